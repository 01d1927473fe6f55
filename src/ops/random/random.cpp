#include "ops/random/random.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/random/threefry.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

// Returns the row-major position of each element, in the given dtype.
Tensor linear_index(const Shape& shape, DType dtype) {
  const Shape strides = row_major_strides(shape);
  Tensor sum;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    Tensor term = iota(shape, static_cast<int64_t>(d), dtype);
    if (strides[d] != 1) term = term * strides[d];
    sum = sum ? sum + term : term;
  }
  return sum ? sum : zeros(shape, dtype);
}

// Returns the counters of all elements as two words. The counter of element i is i: each element is
// computed independently, so a shard needs no data of other shards.
std::pair<Tensor, Tensor> counters(const Shape& shape) {
  if (num_elements(shape) <= int64_t{1} << 32)
    return {zeros(shape, DType::kU32), linear_index(shape, DType::kU32)};
  const Tensor index = linear_index(shape, DType::kU64);
  return {astype(index >> 32, DType::kU32), astype(index, DType::kU32)};
}

std::pair<Tensor, Tensor> hash(const Tensor& key, const std::pair<Tensor, Tensor>& counter) {
  if (key.type() != Type{DType::kU32, {2}}) {
    operand_error("random", "expected a key u32[2]", {key});
  }
  return threefry2x32(index_in_dim(key, 0, 0), index_in_dim(key, 0, 1), counter.first,
                      counter.second);
}

}  // namespace

HostTensor key(int64_t seed) {
  const auto bits = static_cast<uint64_t>(seed);
  return HostTensor({2}, {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)});
}

Tensor split(const Tensor& key, int64_t n) {
  const auto [first, second] = hash(key, counters({n}));
  return stack({first, second}, 1);
}

Values split_each(const Tensor& key, int64_t n) {
  const Tensor keys = split(key, n);
  Values out;
  for (int64_t i = 0; i < n; ++i) out.push_back(index_in_dim(keys, 0, i));
  return out;
}

Tensor fold_in(const Tensor& key, uint32_t number) {
  return fold_in(key, scalar(number, DType::kU32));
}

Tensor fold_in(const Tensor& key, const Tensor& number) {
  if (number.rank() != 0 || !is_integer(number.dtype())) {
    operand_error("random::fold_in", "expected an integer scalar", {number});
  }
  // Splits the number into two words, like a seed. Numbers below 2^32 give the same key in every
  // dtype.
  const bool is_wide = number.dtype() == DType::kI64 || number.dtype() == DType::kU64;
  const Tensor high =
      is_wide ? astype(astype(number, DType::kU64) >> 32, DType::kU32) : scalar(0, DType::kU32);
  const auto [first, second] = hash(key, {high, astype(number, DType::kU32)});
  return stack({first, second});
}

Tensor bits(const Tensor& key, int width, const Shape& shape) {
  const auto [first, second] = hash(key, counters(shape));
  switch (width) {
    case 64:
      return (astype(first, DType::kU64) << 32) | astype(second, DType::kU64);
    case 32:
      return first ^ second;
    case 16:
    case 8:
      return (first ^ second) & full(shape, (1 << width) - 1, DType::kU32);
    default:
      operand_error("random::bits", fmt::format("expected 8, 16, 32 or 64 bits, got {}", width),
                    {key});
  }
}

}  // namespace axle::random
