#include "interop/gguf/gguf_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "interop/families/family.h"
#include "interop/forms/plain_model.h"
#include "interop/gguf/gguf_architecture.h"
#include "interop/gguf/llama_like_gguf.h"
#include "io/gguf/save_gguf.h"
#include "ir/dtype.h"

namespace axle {
namespace {

constexpr std::string_view kLayer = "{layer}", kExpert = "{expert}";

// The name of a tensor, apart from its numbers and its end.
struct Parts {
  std::string row;          // "blk.{layer}.attn_q"
  std::string layer;        // "12", or ""
  std::string_view ending;  // "weight"
};

bool is_number(std::string_view text) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  return !text.empty() && std::ranges::all_of(text, is_digit) && (text[0] != '0' || text == "0");
}

// The first number in a name is that of a layer, the second one that of an expert.
std::optional<Parts> parts_of(const std::string& name) {
  Parts out;
  for (const std::string_view ending : {".weight", ".bias"})
    if (name.ends_with(ending)) out.ending = ending.substr(1);
  if (out.ending.empty()) return {};
  std::string_view sign = kLayer;
  for (const std::string_view word :
       split(std::string_view(name).substr(0, name.size() - out.ending.size() - 1), '.')) {
    if (!out.row.empty()) out.row += '.';
    const bool is_sign = is_number(word);
    if (is_sign && sign == kLayer) out.layer = word;
    out.row += is_sign ? sign : word;
    if (is_sign) sign = kExpert;
  }
  return out;
}

std::string filled(std::string_view row, const Parts& parts) {
  std::string out(row);
  if (const size_t at = out.find(kLayer); at != out.npos)
    out.replace(at, kLayer.size(), parts.layer);
  return out + "." + std::string(parts.ending);
}

}  // namespace

GgufNames::GgufNames(const std::vector<GgufName>& rows) {
  for (const GgufName& row : rows) {
    AXLE_CHECK(by_gguf_.emplace(row.gguf, row).second, "two rows of " + std::string(row.gguf));
    AXLE_CHECK(by_foreign_.emplace(row.foreign, row).second,
               "two rows of " + std::string(row.foreign));
  }
}

std::optional<GgufNames::Foreign> GgufNames::foreign(const std::string& gguf) const {
  const auto parts = parts_of(gguf);
  const auto row = parts ? by_gguf_.find(parts->row) : by_gguf_.end();
  if (row == by_gguf_.end()) return {};
  return Foreign{filled(row->second.foreign, *parts), row->second.change};
}

std::optional<std::string> GgufNames::gguf(const std::string& foreign) const {
  const auto parts = parts_of(foreign);
  const auto row = parts ? by_foreign_.find(parts->row) : by_foreign_.end();
  if (row == by_foreign_.end()) return {};
  return filled(row->second.gguf, *parts);
}

namespace {

// Moves the rows of each head: row `from(row)` of the head becomes its row `row`.
template <class From>
HostTensor with_moved_rows(const HostTensor& t, int64_t head_dim, From from) {
  HostTensor out(t.type());
  if (out.size() == 0) return out;
  const int64_t rows = t.shape()[0];
  const size_t row_bytes = t.bytes().size() / static_cast<size_t>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t in_head = row % head_dim;
    std::memcpy(out.bytes().data() + static_cast<size_t>(row) * row_bytes,
                t.bytes().data() + static_cast<size_t>(row - in_head + from(in_head)) * row_bytes,
                row_bytes);
  }
  return out;
}

template <class T>
HostTensor transposed(const HostTensor& t) {
  const int64_t rows = t.shape()[0], columns = t.shape()[1];
  HostTensor out(Type{t.dtype(), {columns, rows}});
  const std::span<const T> from = t.elements<T>();
  const std::span<T> to = out.elements<T>();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  return out;
}

HostTensor transposed_any(const HostTensor& t) {
  if (t.dtype() == DType::kF64) return transposed<uint64_t>(t);
  return size_bytes(t.dtype()) == 2 ? transposed<uint16_t>(t)
                                    : transposed<uint32_t>(t.astype(DType::kF32));
}

// Numbers of f64 stay such: those that f32 can't hold are refused by name later.
HostTensor plus(const HostTensor& t, float number) {
  const auto add = [&](auto values) {
    for (auto& value : values) value += number;
  };
  const bool is_wide = t.dtype() == DType::kF64;
  HostTensor out = t.astype(is_wide ? DType::kF64 : DType::kF32);
  if (is_wide)
    add(out.values<double>());
  else
    add(out.values<float>());
  return out;
}

}  // namespace

bool can_change(TensorChange change, const Shape& shape, int64_t head_dim) {
  if (change == TensorChange::kTransposed) return shape.size() == 2;
  return change != TensorChange::kNeighbouringPairs ||
         (!shape.empty() && head_dim > 0 && head_dim % 2 == 0 && shape[0] % head_dim == 0);
}

Shape changed(TensorChange change, Shape shape) {
  if (change == TensorChange::kTransposed) std::swap(shape[0], shape[1]);
  return shape;
}

HostTensor from_gguf(TensorChange change, HostTensor tensor, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  switch (change) {
    case TensorChange::kNone:
      return tensor;
    case TensorChange::kNeighbouringPairs:
      return with_moved_rows(tensor, head_dim,
                             [&](int64_t row) { return row % half * 2 + row / half; });
    case TensorChange::kTransposed:
      return transposed_any(tensor);
    case TensorChange::kOneAdded:
      return plus(tensor, -1);
  }
  AXLE_CHECK(false, "a change of a tensor");
}

HostTensor to_gguf(TensorChange change, HostTensor tensor, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  switch (change) {
    case TensorChange::kNone:
      return tensor;
    case TensorChange::kNeighbouringPairs:
      return with_moved_rows(tensor, head_dim,
                             [&](int64_t row) { return row % 2 * half + row / 2; });
    case TensorChange::kTransposed:
      return transposed_any(tensor);
    case TensorChange::kOneAdded:
      return plus(tensor, 1);
  }
  AXLE_CHECK(false, "a change of a tensor");
}

namespace {

// Returns nullptr for a part that there is not.
template <class T>
T* numbers_of(Tree<HostTensor>& parts, std::string_view name) {
  const auto found = parts.find(std::string(name));
  return found == parts.end() ? nullptr : found->second.values<T>().data();
}

}  // namespace

GgufTensors::GgufTensors(const GgufFile& file, const std::vector<GgufName>& rows,
                         const Sizes& sizes, const std::set<std::string>& left_out)
    : file_(file), names_(rows), head_dim_(sizes.head_dim), where_(file.path().string()) {
  for (const std::string& own : file.names()) {
    if (left_out.contains(own)) continue;
    const auto foreign = names_.foreign(own);
    if (!foreign) {
      tensors_.emplace(own, TensorInFile{.name = own});
      continue;
    }
    const Shape& shape = file.tensor(own).shape;
    TensorInFile tensor{.name = own, .change = foreign->change};
    const size_t sign = foreign->name.find(kExpert);
    if (sign == foreign->name.npos) {
      if (!can_change(tensor.change, shape, head_dim_)) tensor.change = TensorChange::kNone;
      tensors_.emplace(foreign->name, tensor);
      continue;
    }
    // Each expert takes memory, even of a single number.
    if (shape.size() != 3 || num_elements(shape) == 0 || shape[0] > sizes.num_experts) {
      tensors_.emplace(own, tensor);
      continue;
    }
    for (int64_t expert = 0; expert < shape[0]; ++expert) {
      tensor.expert = expert;
      tensors_.emplace(
          std::string(foreign->name).replace(sign, kExpert.size(), std::to_string(expert)), tensor);
    }
  }
}

const GgufTensors::TensorInFile& GgufTensors::in_file(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where_, name_in_file(name)));
  return found->second;
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors_) out.push_back(name);
  return out;
}

std::string GgufTensors::name_in_file(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() ? found->second.name : names_.gguf(name).value_or(name);
}

Type GgufTensors::type(const std::string& name) const {
  const TensorInFile& own = in_file(name);
  Type out = file_.type(own.name);
  if (own.expert) out.dims.erase(out.dims.begin());
  out.dims = changed(own.change, std::move(out.dims));
  return out;
}

HostTensor GgufTensors::get(const std::string& name) const {
  const TensorInFile& own = in_file(name);
  if (own.expert)
    return file_.get_rows(own.name, *own.expert, *own.expert + 1).reshaped(type(name).dims);
  return from_gguf(own.change, file_.get(own.name), head_dim_);
}

// Changes move rows or columns. Experts are rows of a larger tensor already.
bool GgufTensors::reads_parts(const std::string& name) const {
  const TensorInFile& own = in_file(name);
  return own.change == TensorChange::kNone && !own.expert && file_.type(own.name).dims.size() == 2;
}

void GgufTensors::read_part(const std::string& name, int64_t first, HostTensor& part) const {
  const std::string& own = in_file(name).name;
  const int64_t columns = file_.type(own).dims[1], row = first / columns;
  part = file_.get_rows(own, row, row + part.size() / columns).reshaped(part.shape());
}

// Groups lie along the rows of the file, which a transposed matrix has as columns.
std::optional<CodeScheme> GgufTensors::scheme(const std::string& name) const {
  const TensorInFile& own = in_file(name);
  const bool is_matrix = type(name).dims.size() == 2 && own.change != TensorChange::kTransposed;
  return is_matrix ? file_.tensor(own.name).type->groups.scheme : std::nullopt;
}

StoredCodes GgufTensors::codes(const std::string& name) const {
  const TensorInFile& own = in_file(name);
  const BlockType& block = *file_.tensor(own.name).type;
  const Shape shape = type(name).dims;
  StoredCodes out{.scheme = *scheme(name), .parts = {}};
  for (const CodePart& part : parts_of(out.scheme)) {
    out.parts.emplace(part.name, HostTensor(Type{part.dtype, {shape[0], shape[1] / part.numbers}}));
  }
  const bool is_small = out.scheme.scales == ScaleForm::kI8;
  GroupNumbers numbers{.codes = numbers_of<uint8_t>(out.parts, kCodes),
                       .scales = numbers_of<F16>(out.parts, is_small ? kBlockScales : kScales),
                       .offsets = numbers_of<F16>(out.parts, is_small ? kBlockOffsets : kOffsets)};
  if (is_small) {
    numbers.small_scales = numbers_of<int8_t>(out.parts, kScales);
    numbers.small_offsets = numbers_of<int8_t>(out.parts, kOffsets);
  }
  const std::vector<std::byte> blocks =
      own.expert ? file_.get_blocks(own.name, *own.expert, *own.expert + 1)
                 : file_.get_blocks(own.name);
  block.groups.read(blocks.data(), shape[0] * shape[1] / block.num_values, numbers);
  for (auto& [part, value] : out.parts) value = from_gguf(own.change, std::move(value), head_dim_);
  return out;
}

namespace {

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
