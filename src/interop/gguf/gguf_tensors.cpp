#include "interop/gguf/gguf_tensors.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"

namespace axle {
namespace {

constexpr std::string_view kExpert = "{expert}";

// Moves the rows of each head: those of its first half are the even ones, those of the second half
// the odd ones.
HostTensor with_halves(const HostTensor& t, int64_t head_dim) {
  const int64_t rows = t.shape()[0];
  HostTensor out(t.type());
  if (out.size() == 0) return out;
  const size_t row_bytes = t.bytes().size() / static_cast<size_t>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t in_head = row % head_dim, half = head_dim / 2;
    const int64_t from = row - in_head + in_head % half * 2 + in_head / half;
    std::memcpy(out.bytes().data() + static_cast<size_t>(row) * row_bytes,
                t.bytes().data() + static_cast<size_t>(from) * row_bytes, row_bytes);
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
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  return out;
}

HostTensor less_one(const HostTensor& t) {
  HostTensor out = t.astype(DType::kF32);
  for (float& value : out.values<float>()) value -= 1;
  return out;
}

// Whether a tensor of this shape can be changed so; one that can't is of a wrong shape.
bool can_change(TensorChange change, const Shape& shape, int64_t head_dim) {
  if (change == TensorChange::kTransposed) return shape.size() == 2;
  return change != TensorChange::kNeighbouringPairs ||
         (!shape.empty() && head_dim > 0 && head_dim % 2 == 0 && shape[0] % head_dim == 0);
}

}  // namespace

GgufTensors::GgufTensors(const GgufFile& file, const std::vector<GgufName>& rows, int64_t head_dim,
                         const std::set<std::string>& left_out)
    : file_(file), names_(rows), head_dim_(head_dim), where_(file.path().string()) {
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
    if (shape.size() != 3 || num_elements(shape) == 0) {
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
  if (own.change == TensorChange::kTransposed) std::swap(out.dims[0], out.dims[1]);
  return out;
}

HostTensor GgufTensors::get(const std::string& name) const {
  const Place& own = place(name);
  if (own.expert)
    return file_.get_rows(own.name, *own.expert, *own.expert + 1).reshaped(type(name).dims);
  HostTensor out = file_.get(own.name);
  switch (own.change) {
    case TensorChange::kNone:
      return out;
    case TensorChange::kNeighbouringPairs:
      return with_halves(out, head_dim_);
    case TensorChange::kOneAdded:
      return less_one(out);
    case TensorChange::kTransposed:
      return size_bytes(out.dtype()) == 2 ? transposed<uint16_t>(out)
                                          : transposed<uint32_t>(out.astype(DType::kF32));
  }
  AXLE_CHECK(false, "a change of a tensor");
}

}  // namespace axle
