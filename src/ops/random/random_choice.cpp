// Samplers of integers, permutations and choices.
#include "ops/random/random_choice.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
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
#include "ops/reductions/argmax.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle::random {
namespace {

void check_enough(int64_t drawn, int64_t n) {
  if (drawn > n) {
    throw ShapeError(fmt::format(
        "random::choice: expected at most {} draws without replacement, got {}", n, drawn));
  }
}

// Combines two random words into one number of twice the width and reduces it modulo `span`, as JAX
// does. The result has less bias than one word modulo `span`, for spans up to 2^(kWidth / 2): for
// larger spans half * half wraps to 0 and the high word drops out, as in JAX. `Word` is the
// unsigned type of the dtype. A span of 0 means all values of `Word`.
template <class Word>
Tensor randint_of(const Tensor& key, const Shape& shape, int64_t low, Word span, DType dtype) {
  constexpr int kWidth = 8 * sizeof(Word);
  const Values keys = split_each(key);
  const Tensor high_word = bits(keys[0], kWidth, shape), low_word = bits(keys[1], kWidth, shape);
  if (span == 0)
    return astype(low_word + constant(HostTensor::scalar(static_cast<Word>(low))), dtype);
  const auto word = [&](Word value) {
    return broadcast_to(constant(HostTensor::scalar(value)), shape);
  };
  const Word half = static_cast<Word>((Word{1} << (kWidth / 2)) % span);
  const Tensor modulus = word(span);
  const Tensor sum = remainder(high_word, modulus) * word(static_cast<Word>(half * half) % span) +
                     remainder(low_word, modulus);
  return astype(remainder(sum, modulus) + word(static_cast<Word>(low)), dtype);
}

}  // namespace

Tensor randint(const Tensor& key, const Shape& shape, int64_t low, int64_t high, DType dtype) {
  if (!Scalar(low).fits(dtype) || (high > low && !Scalar(high - 1).fits(dtype))) {
    throw ShapeError(fmt::format("random::randint: expected bounds that fit {}, got {} and {}",
                                 name_of(dtype), low, high));
  }
  const uint64_t span = high > low ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 1;
  switch (dtype) {
    case DType::kI32:
    case DType::kU32:
      return randint_of<uint32_t>(key, shape, low, static_cast<uint32_t>(span), dtype);
    case DType::kI64:
    case DType::kU64:
      return randint_of<uint64_t>(key, shape, low, span, dtype);
    default:
      throw ShapeError(
          fmt::format("random::randint: expected an integer dtype, got {}", name_of(dtype)));
  }
}

Tensor permutation(const Tensor& key, int64_t n) {
  Tensor order = iota({n}, 0);
  Tensor rest = key;
  // Elements with equal random words keep their order when sorted by them. The number of rounds
  // makes equal words in all rounds improbable.
  const double size = static_cast<double>(std::max<int64_t>(n, 1));
  const int rounds = static_cast<int>(
      std::ceil(3 * std::log(size) / std::log(std::numeric_limits<uint32_t>::max())));
  for (int i = 0; i < rounds; ++i) {
    const Values keys = split_each(rest);
    rest = keys[0];
    order = sort_key_val({bits(keys[1], 32, {n}), order}, 0)[1];
  }
  return order;
}

Tensor permutation(const Tensor& key, const Tensor& x, int64_t axis) {
  return take(x, permutation(key, x.dim(axis)), axis);
}

Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis, const Shape& batch) {
  const int64_t from_the_end = normalized_axis("categorical", logits, axis) - logits.rank();
  Shape shape = batch;
  shape.insert(shape.end(), logits.shape().begin(), logits.shape().end());
  return argmax(gumbel(key, shape, logits.dtype()) + logits, from_the_end);
}

Tensor choice(const Tensor& key, int64_t n, const Shape& shape, Replacement replacement) {
  if (replacement == Replacement::kWith) return randint(key, shape, 0, n);
  const int64_t drawn = num_elements(shape);
  check_enough(drawn, n);
  return reshape(slice_in_dim(permutation(key, n), 0, 0, drawn), shape);
}

Tensor choice(const Tensor& key, const Tensor& p, const Shape& shape, Replacement replacement) {
  if (p.rank() != 1) operand_error("random::choice", "expected probabilities p[n]", {p});
  const int64_t n = p.dim(0), drawn = num_elements(shape);
  if (replacement == Replacement::kWithout) {
    check_enough(drawn, n);
    return reshape(top_k(gumbel(key, {n}, p.dtype()) + log(p), drawn).second, shape);
  }
  const Tensor sums = cumsum(p, 0);
  const Tensor drawn_sum = index_in_dim(sums, 0, -1) * (1 - uniform(key, shape, p.dtype()));
  // The drawn index is the first whose sum reaches drawn_sum, which is the number of smaller sums.
  const Tensor smaller = sums < expand_dims(drawn_sum, -1);
  return reduce_sum(astype(smaller, DType::kI32), {static_cast<int64_t>(shape.size())});
}

}  // namespace axle::random
