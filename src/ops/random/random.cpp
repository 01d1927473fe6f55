#include "ops/random/random.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/random/threefry_keys.h"
#include "ops/reductions/reductions.h"
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
  return reduce_sum(astype(smaller, DType::kI32), {std::ssize(shape)});
}

namespace {

Shape appended(Shape shape, std::initializer_list<int64_t> dims) {
  shape.insert(shape.end(), dims);
  return shape;
}

}  // namespace

Tensor pareto(const Key& key, const Shape& shape, const Tensor& b) {
  check_draw("random::pareto", key, shape, {{"b", b}});
  return exp(exponential(key, shape, b.dtype()) / b);
}

Tensor lognormal(const Key& key, const Shape& shape, const Tensor& sigma) {
  check_draw("random::lognormal", key, shape, {{"sigma", sigma}});
  return exp(normal(key, shape, sigma.dtype()) * sigma);
}

Tensor rayleigh(const Key& key, const Shape& shape, const Tensor& scale) {
  check_draw("random::rayleigh", key, shape, {{"scale", scale}});
  return scale * sqrt(log(uniform(key, shape, scale.dtype())) * -2);
}

// A root of a quadratic equation or its counterpart, chosen with a probability.
// Source: Michael, Schucany and Haas 1976, "Generating random variates using transformations with
// multiple roots".
Tensor wald(const Key& key, const Shape& shape, const Tensor& mean) {
  check_draw("random::wald", key, shape, {{"mean", mean}});
  const std::vector<Key> keys = split_each(key);
  const Tensor mu = broadcast_to(mean, shape);
  const Tensor y = square(normal(keys[0], shape, mean.dtype()));
  const Tensor z = uniform(keys[1], shape, mean.dtype());
  const Tensor root = sqrt(4 * mu * y + square(mu) * square(y));
  const Tensor x = mu + square(mu) * y / 2 - mu / 2 * root;
  return select(z <= mu / (mu + x), x, square(mu) / x);
}

Tensor weibull_min(const Key& key, const Shape& shape, const Tensor& scale,
                   const Tensor& concentration) {
  check_draw("random::weibull_min", key, shape,
             {{"scale", scale}, {"concentration", concentration}});
  const Tensor power = broadcast_to(1 / concentration, shape);
  return pow(exponential(key, shape, scale.dtype()), power) * scale;
}

Tensor triangular(const Key& key, const Shape& shape, const Tensor& left, const Tensor& mode,
                  const Tensor& right) {
  check_draw("random::triangular", key, shape, {{"left", left}, {"mode", mode}, {"right", right}});
  const Tensor u = uniform(key, shape, mode.dtype());
  const Tensor width = right - left, rise = mode - left;
  const Tensor is_rising = u < broadcast_to(rise / width, shape);
  return select(is_rising, left + sqrt(u * width * rise),
                right - sqrt((1 - u) * width * (right - mode)));
}

Tensor geometric(const Key& key, const Shape& shape, const Tensor& p, DType dtype) {
  check_draw("random::geometric", key, shape, {{"p", p}});
  const Tensor u = uniform(key, shape, p.dtype());
  const Tensor positive = select(equal(u, 0), 1, u);
  return astype(floor(log(positive) / log1p(-p)) + 1, dtype);
}

Tensor maxwell(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::maxwell", key, shape, dtype);
  const Tensor z = normal(key, appended(shape, {3}), dtype);
  return sqrt(reduce_sum(square(z), {z.rank() - 1}));
}

Tensor double_sided_maxwell(const Key& key, const Shape& shape, const Tensor& loc,
                            const Tensor& scale) {
  check_draw("random::double_sided_maxwell", key, shape, {{"loc", loc}, {"scale", scale}});
  const std::vector<Key> keys = split_each(key);
  return rademacher(keys[1], shape, loc.dtype()) * maxwell(keys[0], shape, loc.dtype()) * scale +
         loc;
}

Tensor multivariate_normal(const Key& key, const Shape& batch, const Tensor& mean,
                           const Tensor& factor) {
  if (mean.rank() < 1 || factor.rank() < 2 || factor.dim(-1) != mean.dim(-1) ||
      factor.dim(-2) != mean.dim(-1) || factor.dtype() != mean.dtype()) {
    shape_error("random::multivariate_normal",
                "expected a mean [.., n] and a factor [.., n, n] of one dtype", {mean, factor});
  }
  const int64_t n = mean.dim(-1);
  check_draw("random::multivariate_normal", key, appended(batch, {n}), {{"mean", mean}});
  check_draw("random::multivariate_normal", key, appended(batch, {n, n}), {{"factor", factor}});
  const Tensor z = normal(key, appended(batch, {n}), mean.dtype());
  if (factor.rank() == 2) return mean + einsum("ij,...j->...i", factor, z);
  return mean + einsum("...ij,...j->...i", broadcast_to(factor, appended(batch, {n, n})), z);
}

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
