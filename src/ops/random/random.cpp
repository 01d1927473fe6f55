#include "ops/random/random.h"

#include <fmt/format.h>

#include "ops/checks.h"
#include "ops/create.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/slice.h"
#include "ops/random/key_checks.h"
#include "ops/random/rbg.h"
#include "ops/random/threefry_keys.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

// Throws ShapeError, naming `op`, for an array of keys.
bool is_threefry(std::string_view op, const Key& key) {
  check_key(op, key, {PrngImpl::kThreefry2x32, PrngImpl::kRbg, PrngImpl::kUnsafeRbg});
  return key.impl() == PrngImpl::kThreefry2x32;
}

}  // namespace

HostTensor key_words(int64_t seed, PrngImpl impl) {
  const uint32_t high = 0;
  const auto low = static_cast<uint32_t>(static_cast<uint64_t>(seed));
  if (impl == PrngImpl::kThreefry2x32) return HostTensor({2}, {high, low});
  return HostTensor({4}, {high, low, high, low});
}

Key split(const Key& key, int64_t n) {
  check_at_least("random::split", "a number of keys", n, 0, {key.data()});
  return is_threefry("random::split", key) ? threefry_split(key, n) : rbg_split(key, n);
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
  return is_threefry("random::fold_in", key) ? threefry_fold_in(key, high, low)
                                             : rbg_fold_in(key, high, low);
}

Tensor bits(const Key& key, int width, const Shape& shape) {
  check_bits("random::bits", key, width, shape);
  return is_threefry("random::bits", key) ? threefry_bits(key, width, shape)
                                          : rbg_bits(key, width, shape);
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
