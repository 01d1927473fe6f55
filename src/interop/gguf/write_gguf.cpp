#include "interop/gguf/write_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.h"
#include "interop/families/family.h"
#include "interop/forms/plain_model.h"
#include "interop/gguf/gguf_architecture.h"
#include "interop/gguf/gguf_changes.h"
#include "interop/gguf/llama_like_gguf.h"
#include "io/gguf/save_gguf.h"

namespace axle {
namespace {

constexpr std::string_view kExpert = "{expert}";

// A tensor of the file, and the ones of Hugging Face that it is made of.
struct Made {
  std::string foreign;  // {expert} stands for a number
  TensorChange change = TensorChange::kNone;
  int64_t num_experts = 0;  // 0: no experts
};

std::string of_expert(std::string name, int64_t expert) {
  return name.replace(name.find(kExpert), kExpert.size(), std::to_string(expert));
}

std::map<std::string, Made> made_tensors(const GgufArchitecture& architecture,
                                         const TensorSource& source) {
  const GgufNames names(architecture.names());
  std::map<std::string, Made> out;
  for (const std::string& foreign : source.names()) {
    const auto own = names.gguf(foreign);
    if (!own) {
      throw ConfigError(fmt::format("--format gguf: expected tensors that {} has, got {}",
                                    architecture.name, foreign));
    }
    const auto row = names.foreign(*own);
    Made& made = out.try_emplace(*own, Made{row->name, row->change}).first->second;
    if (row->name.find(kExpert) != row->name.npos) ++made.num_experts;
  }
  for (auto& [own, made] : out) {  // the transpose of a vector is the vector
    if (made.change == TensorChange::kTransposed && source.type(made.foreign).dims.size() < 2)
      made.change = TensorChange::kNone;
  }
  return out;
}

Shape shape_of(const Made& made, const TensorSource& source) {
  if (made.num_experts == 0) return changed(made.change, source.type(made.foreign).dims);
  Shape out = source.type(of_expert(made.foreign, 0)).dims;
  out.insert(out.begin(), made.num_experts);
  return out;
}

HostTensor values_of(const Made& made, const TensorSource& source, int64_t head_dim) {
  if (made.num_experts == 0) return to_gguf(made.change, source.get(made.foreign), head_dim);
  HostTensor out(Type{source.type(of_expert(made.foreign, 0)).dtype, shape_of(made, source)});
  const size_t bytes = out.bytes().size() / static_cast<size_t>(made.num_experts);
  for (int64_t expert = 0; expert < made.num_experts; ++expert) {
    const HostTensor one = source.get(of_expert(made.foreign, expert));
    std::memcpy(out.bytes().data() + static_cast<size_t>(expert) * bytes, one.bytes().data(),
                bytes);
  }
  return out;
}

std::string type_of(const std::string& name, const Shape& shape, const std::string& type) {
  const bool is_small = shape.size() < 2 || name.find(".ffn_gate_inp.") != name.npos ||
                        name == "position_embd.weight";
  if (is_small) return "F32";
  return shape.back() % find_block_type(type)->num_values == 0 ? type : "F16";
}

// llama.cpp's numbers of files by the type of most of their tensors.
void set_file_type(const std::string& type, GgufMetadata& out) {
  static const std::map<std::string, uint32_t> numbers = {
      {"F32", 0}, {"F16", 1}, {"Q8_0", 7}, {"BF16", 32}};
  out.set("general.file_type", numbers.at(type));
  out.set("general.quantization_version", uint32_t{2});
}

// Keys are f32, and frequencies may be described in two ways: write_rope_keys() has checked them.
bool is_alike(const ModelDifference& found) {
  if (found.path.find(".frequencies") != found.path.npos) return true;
  char *first_end = nullptr, *second_end = nullptr;
  const double first = std::strtod(found.first.c_str(), &first_end),
               second = std::strtod(found.second.c_str(), &second_end);
  const bool are_numbers =
      *first_end == '\0' && *second_end == '\0' && !found.first.empty() && !found.second.empty();
  return are_numbers && std::abs(first - second) <= 1e-6 * std::abs(first);
}

// Throws unless the file would be read back as the model.
void check_read_back(const GgufArchitecture& architecture, const GgufHeader& header,
                     const GgufKeyWriter& keys, const ForeignConfig& config) {
  const GgufKeys read(header, config.where(),
                      [&](const std::string& name) { return keys.tensors().at(name); });
  const ForeignConfig fields(architecture.fields(read), config.where());
  for (const ModelDifference& found : differences(plain_model(family_of(config).model(config)),
                                                  plain_model(family_of(fields).model(fields)))) {
    if (is_alike(found)) continue;
    throw ConfigError(fmt::format("{}: expected a model that GGUF has keys for, got {}: {}, not {}",
                                  config.where(), found.path, found.first, found.second));
  }
}

}  // namespace

void write_gguf(const std::filesystem::path& file, const GgufToWrite& model,
                const TensorSource& tensors) {
  const ForeignConfig config(model.fields, tensors.where());
  const GgufArchitecture& architecture = architecture_for(config);
  GgufKeyWriter keys{std::string(architecture.name)};
  architecture.write(config, keys);
  GgufHeader header{.metadata = keys.metadata(), .tensors = {}};
  set_file_type(model.type, header.metadata);
  for (const auto& [key, value] : model.further.entries()) header.metadata.set(key, value);

  const int64_t head_dim = config.has("hidden_size") ? head_dim_of(config) : 0;
  std::vector<GgufTensorToSave> saved;
  const auto add = [&](const std::string& name, const std::string& type, const Shape& shape,
                       std::function<HostTensor()> values) {
    header.tensors.emplace(name, GgufTensor{.type = find_block_type(type), .shape = shape});
    saved.push_back({name, type, shape, std::move(values)});
  };
  for (const auto& entry : keys.tensors()) {
    const HostTensor& values = entry.second;
    add(entry.first, "F32", values.shape(), [&values] { return values; });
  }
  const std::map<std::string, Made> all = made_tensors(architecture, tensors);
  for (const auto& entry : all) {
    const Made& made = entry.second;
    const Shape shape = shape_of(made, tensors);
    add(entry.first, type_of(entry.first, shape, model.type), shape,
        [&made, &tensors, head_dim] { return values_of(made, tensors, head_dim); });
  }
  check_read_back(architecture, header, keys, config);
  save_gguf(file, header.metadata, saved);
}

}  // namespace axle
