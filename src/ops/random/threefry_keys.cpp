#include "ops/random/threefry_keys.h"

#include <fmt/format.h>

#include <limits>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

Part whole(const Shape& shape) { return {.whole = shape, .begin = {}, .sizes = shape}; }

// Returns the row-major position of each element in the whole tensor, in the given dtype.
Tensor linear_index(const Part& part, DType dtype) {
  const Shape strides = row_major_strides(part.whole);
  Tensor sum;
  for (size_t d = 0; d < part.whole.size(); ++d) {
    if (part.whole[d] == 1) continue;
    Tensor term = iota(part.sizes, static_cast<int64_t>(d), dtype);
    if (!part.begin.empty()) term = term + astype(part.begin[d], dtype);
    if (strides[d] != 1) term = term * strides[d];
    sum = sum ? sum + term : term;
  }
  return sum ? sum : zeros(part.sizes, dtype);
}

// Returns the counters of all elements as two words. The counter of element i is i: each element is
// computed independently, so a shard needs no data of other shards.
std::pair<Tensor, Tensor> counters(const Part& part) {
  if (num_elements(part.whole) <= int64_t{1} << 32)
    return {zeros(part.sizes, DType::kU32), linear_index(part, DType::kU32)};
  const Tensor index = linear_index(part, DType::kU64);
  return {astype(index >> 32, DType::kU32), astype(index, DType::kU32)};
}

std::pair<Tensor, Tensor> hash(const Key& key, const std::pair<Tensor, Tensor>& counter) {
  return threefry2x32(index_in_dim(key.data(), 0, 0), index_in_dim(key.data(), 0, 1), counter.first,
                      counter.second);
}

// Returns n random words of the original mode: the counters 0 .. n-1 are cut into halves, and each
// counter of the first half is hashed together with its partner of the second. An odd n gets one
// more counter, which is 0.
Tensor original_words(const Key& key, int64_t n) {
  if (n > std::numeric_limits<uint32_t>::max()) {
    shape_error("random",
                fmt::format("expected at most 2^32 - 1 words in the original mode of threefry, "
                            "got {}",
                            n),
                {key.data()});
  }
  const int64_t half = (n + 1) / 2;
  const Tensor first = iota({half}, 0, DType::kU32);
  Tensor second = slice_in_dim(iota({n}, 0, DType::kU32), 0, half, n);
  if (n % 2 == 1) second = pad_in_dim(second, 0, 0, 1);
  const auto [a, b] = hash(key, {first, second});
  return slice_in_dim(concatenate({a, b}, 0), 0, 0, n);
}

Tensor joined(const Tensor& high, const Tensor& low) {
  return (astype(high, DType::kU64) << 32) | astype(low, DType::kU64);
}

Tensor original_bits(const Key& key, int width, const Shape& shape) {
  const int64_t size = num_elements(shape);
  if (width == 64) {
    const Tensor words = original_words(key, 2 * size);
    return reshape(joined(slice_in_dim(words, 0, 0, size), slice_in_dim(words, 0, size, 2 * size)),
                   shape);
  }
  const int64_t per_word = 32 / width;
  const Tensor words = original_words(key, (size + per_word - 1) / per_word);
  if (width == 32) return reshape(words, shape);
  // A narrower dtype splits each word, its low bits first.
  const Tensor parts = bitcast_convert(words, width == 8 ? DType::kU8 : DType::kU16);
  return astype(reshape(slice_in_dim(flatten(parts), 0, 0, size), shape), DType::kU32);
}

void check_threefry(std::string_view op, const Key& key) {
  check_key(op, key, {PrngImpl::kThreefry2x32});
}

bool is_original() { return prng_options().threefry == ThreefryMode::kOriginal; }

}  // namespace

Key threefry_split(const Key& key, int64_t n) {
  check_threefry("random::threefry_split", key);
  check_at_least("random::threefry_split", "a number of keys", n, 0, {key.data()});
  if (is_original()) return Key::wrap(reshape(original_words(key, 2 * n), {n, 2}));
  const auto [first, second] = hash(key, counters(whole({n})));
  return Key::wrap(stack({first, second}, 1));
}

Key threefry_fold_in(const Key& key, const Tensor& high, const Tensor& low) {
  check_threefry("random::threefry_fold_in", key);
  check_words("random::threefry_fold_in", high, low);
  const auto [first, second] = hash(key, {high, low});
  return Key::wrap(stack({first, second}));
}

Tensor threefry_bits(const Key& key, int width, const Shape& shape) {
  check_threefry("random::threefry_bits", key);
  check_bits("random::threefry_bits", key, width, shape);
  return is_original() ? original_bits(key, width, shape) : threefry_bits(key, width, whole(shape));
}

Tensor threefry_bits(const Key& key, int width, const Part& part) {
  const auto [first, second] = hash(key, counters(part));
  if (width == 64) return joined(first, second);
  if (width == 32) return first ^ second;
  return (first ^ second) & full(part.sizes, (1 << width) - 1, DType::kU32);
}

}  // namespace axle::random
