// They use JAX's order of operations, so that the last bits agree.
#include "ops/random/random_distributions.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/broadcast.h"
#include "ops/products/einsum.h"
#include "ops/random/random.h"
#include "ops/random/sampler_checks.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle::random {
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

}  // namespace axle::random
