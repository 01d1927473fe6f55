#include "interop/gguf/gguf_tensors.h"

#include <fmt/format.h>

#include "base/error.h"
#include "interop/gguf/gguf_changes.h"
#include "ir/small_float.h"

namespace axle {
namespace {

constexpr std::string_view kExpert = "{expert}";

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
      places_.emplace(own, Place{.name = own});
      continue;
    }
    const Shape& shape = file.tensor(own).shape;
    Place place{.name = own, .change = foreign->change};
    const size_t sign = foreign->name.find(kExpert);
    if (sign == foreign->name.npos) {
      if (!can_change(place.change, shape, head_dim_)) place.change = TensorChange::kNone;
      places_.emplace(foreign->name, place);
      continue;
    }
    // Each expert takes memory, even of a single number.
    if (shape.size() != 3 || num_elements(shape) == 0 || shape[0] > sizes.num_experts) {
      places_.emplace(own, place);
      continue;
    }
    for (int64_t expert = 0; expert < shape[0]; ++expert) {
      place.expert = expert;
      places_.emplace(
          std::string(foreign->name).replace(sign, kExpert.size(), std::to_string(expert)), place);
    }
  }
}

const GgufTensors::Place& GgufTensors::place(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where_, name_in_file(name)));
  return found->second;
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> out;
  for (const auto& [name, place] : places_) out.push_back(name);
  return out;
}

std::string GgufTensors::name_in_file(const std::string& name) const {
  const auto found = places_.find(name);
  return found != places_.end() ? found->second.name : names_.gguf(name).value_or(name);
}

Type GgufTensors::type(const std::string& name) const {
  const Place& own = place(name);
  Type out = file_.type(own.name);
  if (own.expert) out.dims.erase(out.dims.begin());
  out.dims = changed(own.change, std::move(out.dims));
  return out;
}

HostTensor GgufTensors::get(const std::string& name) const {
  const Place& own = place(name);
  if (own.expert)
    return file_.get_rows(own.name, *own.expert, *own.expert + 1).reshaped(type(name).dims);
  return from_gguf(own.change, file_.get(own.name), head_dim_);
}

// Changes move rows or columns. Experts are rows of a larger tensor already.
bool GgufTensors::reads_parts(const std::string& name) const {
  const Place& own = place(name);
  return own.change == TensorChange::kNone && !own.expert && file_.type(own.name).dims.size() == 2;
}

void GgufTensors::read_part(const std::string& name, int64_t first, HostTensor& part) const {
  const std::string& own = place(name).name;
  const int64_t columns = file_.type(own).dims[1], row = first / columns;
  part = file_.get_rows(own, row, row + part.size() / columns).reshaped(part.shape());
}

// Groups lie along the rows of the file, which a transposed matrix has as columns.
std::optional<CodeScheme> GgufTensors::scheme(const std::string& name) const {
  const Place& own = place(name);
  const bool is_matrix = type(name).dims.size() == 2 && own.change != TensorChange::kTransposed;
  return is_matrix ? file_.tensor(own.name).type->groups.scheme : std::nullopt;
}

StoredCodes GgufTensors::codes(const std::string& name) const {
  const Place& own = place(name);
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

}  // namespace axle
