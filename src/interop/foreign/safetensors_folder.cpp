#include "interop/foreign/safetensors_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors", kIndex = "model.safetensors.index.json";

// The format of a file that may be a pickle; nullptr if it is none.
const FileFormat* pickle_in(const fs::path& path) {
  const fs::path kind = path.extension();
  if (kind != ".bin" && kind != ".pt" && kind != ".pth" && kind != ".ckpt" && kind != ".pkl")
    return nullptr;
  if (!fs::is_regular_file(path)) return nullptr;
  const FileFormat* const format = recognized_format(head_of(FileReader(path)));
  return format && format->name == kPickleName ? format : nullptr;
}

// True if the index can be left out: the file beside it has the tensors that it names. False if
// that file is one of several. Throws DataError for other tensors.
bool is_whole(const SafetensorsFile& single, const fs::path& index) {
  std::set<std::string> unnamed;
  for (const std::string& name : single.names()) unnamed.insert(name);
  const auto refuse = [&](const std::string& got) {
    throw DataError(
        fmt::format("{}: expected the tensors of the {} beside it, got {}; remove the "
                    "one of the two that is not the model",
                    index.string(), kSingle, got));
  };
  return json_as<DataError>(index.string(), [&] {
    const nlohmann::ordered_json document = read_json(read_file(index));
    const auto places = JsonView(document).at("weight_map").members();
    for (const auto& [name, file] : places)
      if (file.text() == kSingle) return false;
    for (const auto& [name, file] : places)
      if (unnamed.erase(name) == 0) refuse(printable(name) + " as well");
    if (!unnamed.empty()) refuse("no " + printable(*unnamed.begin()));
    return true;
  });
}

}  // namespace

std::string weights_there(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& entry : list_directory(folder)) {
    names.push_back(entry.filename().string());
    if (const FileFormat* const pickle = pickle_in(entry))
      return fmt::format("{}, {}", names.back(), to_text(*pickle));
  }
  if (names.size() > 8) names.resize(8);
  return names.empty() ? "an empty folder" : join(names, ", ");
}

SafetensorsFolder::SafetensorsFolder(const fs::path& folder) : where_(folder.string()) {
  const fs::path single = folder / kSingle, index = folder / kIndex;
  const bool has_single = path_exists(single), has_index = path_exists(index);
  if (!has_single && !has_index) {
    throw DataError(fmt::format("{}: expected {} or {}, got {}", where_, kSingle, kIndex,
                                weights_there(folder)));
  }
  std::unique_ptr<SafetensorsFile> file;
  if (has_single) file = std::make_unique<SafetensorsFile>(single);
  if (!file || (has_index && !is_whole(*file, index))) {
    read_index(index);
    return;
  }
  files_.push_back(std::move(file));
  for (const std::string& name : files_.back()->names())
    file_of_.emplace(name, files_.back().get());
}

void SafetensorsFolder::read_index(const fs::path& index) {
  std::map<std::string, const SafetensorsFile*> opened;
  json_as<DataError>(index.string(), [&] {
    const nlohmann::ordered_json document = read_json(read_file(index));
    for (const auto& [name, file] : JsonView(document).at("weight_map").members()) {
      const fs::path file_name = file.text();
      // A name with a folder could lead out of this one.
      const bool is_line = std::ranges::none_of(
          file.text(), [](char c) { return static_cast<uint8_t>(c) < ' ' || c == 0x7f; });
      if (!is_line || file_name.empty() || file_name != file_name.filename())
        file.fail("the name of a file");
      auto& open = opened[file_name.string()];
      if (!open) {
        files_.push_back(std::make_unique<SafetensorsFile>(index.parent_path() / file_name));
        open = files_.back().get();
      }
      if (!open->contains(name)) file.fail(fmt::format("a file that holds {}", printable(name)));
      file_of_.emplace(name, open);
    }
  });
  // A tensor beside the index would be lost in silence.
  for (const auto& [file_name, file] : opened) {
    for (const std::string& name : file->names()) {
      const auto found = file_of_.find(name);
      if (found != file_of_.end() && found->second == file) continue;
      throw DataError(fmt::format("{}: expected weight_map to name {} for {}, got {}",
                                  index.string(), file_name, printable(name),
                                  found == file_of_.end() ? "none" : "another file"));
    }
  }
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : file_of_) out.push_back(name);
  return out;
}

const SafetensorsFile& SafetensorsFolder::file_of(const std::string& name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where_, name));
  return *found->second;
}

std::vector<std::string> SafetensorsShards::names() const {
  std::vector<std::string> out;
  for (const auto& [name, types] : files) out.push_back(name);
  if (!index.empty()) out.emplace_back(kIndex);
  return out;
}

SafetensorsShards shards_of(const Tree<Type>& types, int64_t max_bytes) {
  std::vector<std::string> names;
  for (const auto& [name, type] : types) names.push_back(name);
  std::ranges::stable_sort(names, natural_less);
  std::vector<Tree<Type>> parts(1);
  int64_t total = 0, bytes = 0;
  for (const std::string& name : names) {
    const auto own = static_cast<int64_t>(types.at(name).num_bytes());
    if (!parts.back().empty() && bytes + own > max_bytes) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().emplace(name, types.at(name));
    bytes += own;
    total += own;
  }
  SafetensorsShards out;
  if (parts.size() == 1) {
    out.files.emplace_back(kSingle, std::move(parts[0]));
    return out;
  }
  nlohmann::ordered_json places = nlohmann::ordered_json::object();
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, parts.size());
    for (const auto& [name, type] : parts[i]) places[name] = file;
    out.files.emplace_back(file, std::move(parts[i]));
  }
  out.index =
      nlohmann::ordered_json{{"metadata", {{"total_size", total}}}, {"weight_map", places}}.dump(
          2) +
      "\n";
  return out;
}

void save_safetensors_folder(const fs::path& folder, const SafetensorsShards& shards,
                             const std::function<HostTensor(const std::string& name)>& tensor) {
  // Readers ask for the name of the framework, since the layout of tensors may depend on it.
  for (const auto& [file, types] : shards.files)
    save_safetensors(folder / file, types, tensor, {{"format", "pt"}});
  if (!shards.index.empty()) replace_file(folder / kIndex, shards.index);
}

namespace {

constexpr std::string_view kScaleSuffix = "_scale_inv";

int64_t num_blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::binary_search(names, name);
}

}  // namespace

std::optional<Fp8Form> fp8_form_of(const ForeignConfig& config) {
  const auto quantized = config.group("quantization_config");
  if (!quantized) return {};
  if (quantized->text("quant_method", "") != "fp8") {
    quantized->fail("quant_method",
                    "\"fp8\"; weights of other methods are read from the model that they were "
                    "made from, or from a GGUF file");
  }
  quantized->expect("fmt", "e4m3");
  // How products are computed, which matrices stay plain, and of which kind the scales are.
  quantized->ignore(
      {"activation_scheme", "modules_to_not_convert", "ignored_layers", "scale_fmt", "dequantize"});
  const std::vector<double> block = quantized->numbers("weight_block_size");
  const auto is_size = [](double size) {
    return size >= 1 && size <= 1 << 20 && size == static_cast<int64_t>(size);
  };
  if (block.size() != 2 || !std::ranges::all_of(block, is_size))
    quantized->fail("weight_block_size", "rows and columns of a block");
  return Fp8Form{static_cast<int64_t>(block[0]), static_cast<int64_t>(block[1])};
}

bool Fp8Blocks::is_coded(const std::string& name) const {
  return source_.type(name).dtype == DType::kF8E4M3FN;
}

std::vector<std::string> Fp8Blocks::names() const {
  const std::vector<std::string> all = source_.names();
  std::vector<std::string> out;
  for (const std::string& name : all) {
    const std::string matrix =
        name.ends_with(kScaleSuffix) ? name.substr(0, name.size() - kScaleSuffix.size()) : "";
    if (!has(all, matrix) || !is_coded(matrix)) out.push_back(name);
  }
  return out;
}

Type Fp8Blocks::type(const std::string& name) const {
  Type out = source_.type(name);
  if (is_coded(name)) out.dtype = DType::kF32;
  return out;
}

HostTensor Fp8Blocks::get(const std::string& name) const {
  if (!is_coded(name)) return source_.get(name);
  const std::string in_file = name_in_file(name);
  const Shape& shape = source_.type(name).dims;
  if (shape.size() != 2) {
    throw DataError(fmt::format("{}: {}: expected a matrix in f8, got shape {}", where(), in_file,
                                to_text(shape)));
  }
  const int64_t blocks = num_blocks(shape[1], form_.columns);
  const Shape expected = {num_blocks(shape[0], form_.rows), blocks};
  const HostTensor stored = source_.get(name + std::string(kScaleSuffix));
  if (stored.shape() != expected || !is_float(stored.dtype())) {
    throw DataError(fmt::format("{}: {}{}: expected floats of shape {}, got {}", where(), in_file,
                                kScaleSuffix, to_text(expected), to_text(stored.type())));
  }
  const HostTensor scales = stored.astype(DType::kF32);
  HostTensor out = source_.get(name).astype(DType::kF32);
  const auto values = out.values<float>();
  const auto of_blocks = scales.values<float>();
  parallel_for(shape[0], 1 + (1 << 16) / (shape[1] + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = values.subspan(i * shape[1], shape[1]);
      const auto own = of_blocks.subspan(i / form_.rows * blocks, blocks);
      for (int64_t j = 0; j < shape[1]; ++j) row[j] *= own[j / form_.columns];
    }
  });
  return out;
}

}  // namespace axle
