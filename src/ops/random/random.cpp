#include "ops/random/random.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/slice.h"
#include "ops/random/rbg.h"
#include "ops/random/threefry_keys.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

bool is_threefry(const Key& key) {
  if (!key.shape().empty()) {
    shape_error("random", "expected one key, got an array of keys; draw with each under vmap",
                {key.data()});
  }
  return key.impl() == PrngImpl::kThreefry2x32;
}

}  // namespace

HostTensor key(int64_t seed, PrngImpl impl) {
  const auto bits = static_cast<uint64_t>(seed);
  const auto high = static_cast<uint32_t>(bits >> 32), low = static_cast<uint32_t>(bits);
  if (impl == PrngImpl::kThreefry2x32) return HostTensor({2}, {high, low});
  return HostTensor({4}, {high, low, high, low});
}

Key split(const Key& key, int64_t n) {
  return is_threefry(key) ? threefry_split(key, n) : rbg_split(key, n);
}

std::vector<Key> split_each(const Key& key, int64_t n) {
  const Key keys = split(key, n);
  std::vector<Key> out;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(Key::wrap(index_in_dim(keys.data(), 0, i), key.impl()));
  return out;
}

Key fold_in(const Key& key, uint32_t number) { return fold_in(key, scalar(number, DType::kU32)); }

Key fold_in(const Key& key, const Tensor& number) {
  if (number.rank() != 0 || !is_integer(number.dtype())) {
    shape_error("random::fold_in", "expected an integer scalar", {number});
  }
  // Splits the number into two words, like a seed. Numbers below 2^32 give the same key in every
  // dtype.
  const bool is_wide = number.dtype() == DType::kI64 || number.dtype() == DType::kU64;
  const Tensor high =
      is_wide ? astype(astype(number, DType::kU64) >> 32, DType::kU32) : scalar(0, DType::kU32);
  const Tensor low = astype(number, DType::kU32);
  return is_threefry(key) ? threefry_fold_in(key, high, low) : rbg_fold_in(key, high, low);
}

Tensor bits(const Key& key, int width, const Shape& shape) {
  if (width != 8 && width != 16 && width != 32 && width != 64) {
    shape_error("random::bits", fmt::format("expected 8, 16, 32 or 64 bits, got {}", width),
                {key.data()});
  }
  return is_threefry(key) ? threefry_bits(key, width, shape) : rbg_bits(key, width, shape);
}

Tensor bits(const Key& key, const Shape& shape, DType dtype) {
  if (!is_unsigned(dtype) || is_storage_only(dtype)) {
    shape_error("random::bits",
                fmt::format("expected dtype u8, u16, u32 or u64, got {}", name_of(dtype)),
                {key.data()});
  }
  return astype(bits(key, static_cast<int>(8 * size_bytes(dtype)), shape), dtype);
}

}  // namespace axle::random
