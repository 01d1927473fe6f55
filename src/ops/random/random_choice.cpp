// Samplers of integers, permutations and choices.
#include "ops/random/random_choice.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/sort.h"
#include "ops/random/random.h"
#include "ops/random/sampler_checks.h"
#include "ops/reductions/argmax.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

void check_enough(std::string_view op, int64_t drawn, int64_t n) {
  if (drawn > n) {
    shape_error(op, fmt::format("expected at most {} draws without replacement, got {}", n, drawn));
  }
}

// Returns two random words modulo the word `span` as if they were one number of twice the width:
// high * 2^width + low. `multiplier` is 2^width modulo `span`. The result has less bias than one
// word modulo `span`, for spans up to 2^(width / 2): for larger spans JAX's multiplier, which is
// computed in words that wrap, is 0 and the high word drops out.
Tensor reduced_population(const Tensor& high, const Tensor& low, const Tensor& multiplier,
                          const Tensor& span) {
  return remainder(remainder(high, span) * multiplier + remainder(low, span), span);
}

// `Word` is the unsigned type of the dtype. A span of 0 means all values of `Word`.
template <class Word>
Tensor randint_of(const Key& key, const Shape& shape, int64_t low, Word span, DType dtype) {
  constexpr int kWidth = 8 * sizeof(Word);
  const std::vector<Key> keys = split_each(key);
  const Tensor high_word = bits(keys[0], kWidth, shape), low_word = bits(keys[1], kWidth, shape);
  if (span == 0)
    return astype(low_word + constant(HostTensor::scalar(static_cast<Word>(low))), dtype);
  const auto word = [&](Word value) {
    return broadcast_to(constant(HostTensor::scalar(value)), shape);
  };
  const Word half = static_cast<Word>((Word{1} << (kWidth / 2)) % span);
  const Tensor drawn = reduced_population(high_word, low_word,
                                          word(static_cast<Word>(half * half) % span), word(span));
  return astype(drawn + word(static_cast<Word>(low)), dtype);
}

// True for the dtypes whose integers are drawn as i32 and converted, as in JAX.
bool is_narrow(DType dtype) { return is_integer(dtype) && size_bytes(dtype) < 4; }

void check_randint_dtype(DType dtype) {
  if (!is_integer(dtype)) {
    shape_error("random::randint",
                fmt::format("expected an integer dtype, got {}", name_of(dtype)));
  }
}

// Sorts x along `axis` by random words. Elements with equal random words keep their order. The
// number of rounds makes equal words in all rounds improbable.
Tensor shuffled(Key rest, Tensor x, int64_t axis) {
  const double size = static_cast<double>(std::max<int64_t>(num_elements(x.shape()), 1));
  const int rounds = static_cast<int>(
      std::ceil(3 * std::log(size) / std::log(std::numeric_limits<uint32_t>::max())));
  for (int i = 0; i < rounds; ++i) {
    const std::vector<Key> keys = split_each(rest);
    rest = keys[0];
    x = sort_key_val({bits(keys[1], 32, x.shape()), x}, axis)[1];
  }
  return x;
}

}  // namespace

Tensor randint(const Key& key, const Shape& shape, int64_t low, int64_t high, DType dtype) {
  check_draw("random::randint", key, shape);
  check_randint_dtype(dtype);
  if (!Scalar(low).fits(dtype) || (high > low && !Scalar(high - 1).fits(dtype))) {
    shape_error("random::randint", fmt::format("expected bounds that fit {}, got {} and {}",
                                               name_of(dtype), low, high));
  }
  if (is_narrow(dtype)) return astype(randint(key, shape, low, high), dtype);
  const uint64_t span = high > low ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 1;
  if (size_bytes(dtype) == 4)
    return randint_of<uint32_t>(key, shape, low, static_cast<uint32_t>(span), dtype);
  return randint_of<uint64_t>(key, shape, low, span, dtype);
}

Tensor randint(const Key& key, const Shape& shape, const Tensor& low, const Tensor& high) {
  const DType dtype = low.dtype();
  check_draw("random::randint", key, shape);
  check_randint_dtype(dtype);
  if (high.dtype() != dtype) {
    shape_error("random::randint",
                fmt::format("expected bounds of one dtype, got {} and {}", name_of(dtype),
                            name_of(high.dtype())),
                {low, high});
  }
  if (is_narrow(dtype)) {
    return astype(randint(key, shape, astype(low, DType::kI32), astype(high, DType::kI32)), dtype);
  }
  const DType word = size_bytes(dtype) == 4 ? DType::kU32 : DType::kU64;
  const int width = static_cast<int>(8 * size_bytes(dtype));
  const std::vector<Key> keys = split_each(key);
  const Tensor from = broadcast_to(low, shape), to = broadcast_to(high, shape);
  const Tensor span = select(from < to, astype(to - from, word), 1);
  const Tensor half = remainder(full(shape, uint64_t{1} << (width / 2), word), span);
  const Tensor drawn = reduced_population(bits(keys[0], width, shape), bits(keys[1], width, shape),
                                          remainder(half * half, span), span);
  return from + astype(drawn, dtype);
}

Tensor permutation(const Key& key, int64_t n) {
  check_at_least("random::permutation", "a number of integers", n, 0, {key.data()});
  return shuffled(key, iota({n}, 0), 0);
}

Tensor independent_permutation(const Key& key, const Tensor& x, int64_t axis) {
  return shuffled(key, x, normalized_axis("random::independent_permutation", x, axis));
}

Tensor permutation(const Key& key, const Tensor& x, int64_t axis) {
  axis = normalized_axis("random::permutation", x, axis);
  return take(x, permutation(key, x.dim(axis)), axis);
}

Tensor categorical(const Key& key, const Tensor& logits, int64_t axis, const Shape& batch,
                   Replacement replacement) {
  const int64_t dim = normalized_axis("random::categorical", logits, axis);
  check_draw("random::categorical", key, batch, logits.dtype());
  if (replacement == Replacement::kWithout) {
    const int64_t drawn = num_elements(batch);
    check_enough("random::categorical", drawn, logits.dim(dim));
    const Tensor noisy = logits + gumbel(key, logits.shape(), logits.dtype());
    const Tensor best = top_k(move_axis(noisy, dim, logits.rank() - 1), drawn).second;
    Shape shape = best.shape();
    shape.pop_back();
    shape.insert(shape.begin(), batch.begin(), batch.end());
    return reshape(move_axis(best, best.rank() - 1, 0), shape);
  }
  Shape shape = batch;
  shape.insert(shape.end(), logits.shape().begin(), logits.shape().end());
  return argmax(gumbel(key, shape, logits.dtype()) + logits, dim - logits.rank());
}

Tensor choice(const Key& key, int64_t n, const Shape& shape, Replacement replacement) {
  check_draw("random::choice", key, shape);
  const int64_t drawn = num_elements(shape);
  check_at_least("random::choice", "a number of indices to draw from", n, drawn > 0 ? 1 : 0,
                 {key.data()});
  if (replacement == Replacement::kWith) return randint(key, shape, 0, n);
  check_enough("random::choice", drawn, n);
  return reshape(slice_in_dim(permutation(key, n), 0, 0, drawn), shape);
}

Tensor choice(const Key& key, const Tensor& p, const Shape& shape, Replacement replacement) {
  if (p.rank() != 1 || !is_float(p.dtype()))
    shape_error("random::choice", "expected probabilities p[n] that are floats", {p});
  check_draw("random::choice", key, shape);
  const int64_t n = p.dim(0), drawn = num_elements(shape);
  check_at_least("random::choice", "a number of indices to draw from", n, drawn > 0 ? 1 : 0, {p});
  if (replacement == Replacement::kWithout) {
    check_enough("random::choice", drawn, n);
    return reshape(top_k(gumbel(key, {n}, p.dtype()) + log(p), drawn).second, shape);
  }
  const Tensor sums = cumsum(p, 0);
  const Tensor drawn_sum = index_in_dim(sums, 0, -1) * (1 - uniform(key, shape, p.dtype()));
  // The drawn index is the first whose sum reaches drawn_sum, which is the number of smaller sums.
  const Tensor smaller = sums < expand_dims(drawn_sum, -1);
  return reduce_sum(astype(smaller, DType::kI32), {static_cast<int64_t>(shape.size())});
}

}  // namespace axle::random
