// They use JAX's order of operations and of keys, so that the last bits agree.
#include "transform/random/gamma.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/random/random.h"
#include "ops/random/random_floats.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/while_loop.h"
#include "transform/custom_vjp.h"
#include "transform/random/gamma_gradient.h"
#include "transform/vmap.h"

namespace axle::random {
namespace {

enum class Space { kLinear, kLog };

// The loop of one draw: v^3 d is the draw, for v = 1 + c x with a normal number x.
struct Candidate {
  Tensor d, c;
  DType dtype;

  // Draws normal numbers until v is positive; returns x^2 and v^3.
  std::pair<Tensor, Tensor> proposal(const Key& key) const {
    const Values drawn = while_loop([](const Values& carry) { return carry[2] <= 0; },
                                    [&](const Values& carry) {
                                      const std::vector<Key> keys =
                                          split_each(Key::wrap(carry[0], key.impl()));
                                      const Tensor x = normal(keys[1], {}, dtype);
                                      return Values{keys[0].data(), x, 1 + x * c};
                                    },
                                    {key.data(), scalar(0, dtype), scalar(-1, dtype)});
    return {drawn[1] * drawn[1], drawn[2] * drawn[2] * drawn[2]};
  }

  // The carry is (key, x^2, v^3, u) with a uniform number u. The first test is cheap and accepts
  // most proposals.
  Tensor is_rejected(const Values& carry) const {
    const Tensor &x2 = carry[1], &v3 = carry[2], &u = carry[3];
    return (u >= 1 - 0.0331 * (x2 * x2)) & (log(u) >= x2 * 0.5 + d * (1 - v3 + log(v3)));
  }

  // Returns v^3 of the accepted proposal.
  Tensor accepted(const Key& key) const {
    return while_loop([this](const Values& carry) { return is_rejected(carry); },
                      [&](const Values& carry) {
                        const std::vector<Key> keys =
                            split_each(Key::wrap(carry[0], key.impl()), 3);
                        const auto [x2, v3] = proposal(keys[1]);
                        return Values{keys[0].data(), x2, v3, uniform(keys[2], {}, dtype)};
                      },
                      {key.data(), scalar(0, dtype), scalar(1, dtype), scalar(2, dtype)})[2];
  }
};

// Draws one number; a is a scalar. For a < 1, a draw for a + 1 is multiplied by u^(1/a).
Tensor one_gamma(const Key& key, const Tensor& a, Space space) {
  const Tensor is_large = a >= 1;
  const Tensor d = select(is_large, a, a + 1) - 1. / 3;
  const Tensor c = 1. / 3 / sqrt(d);
  const std::vector<Key> keys = split_each(key);
  const Tensor v3 = Candidate{d, c, a.dtype()}.accepted(keys[0]);
  if (space == Space::kLinear) {
    const Tensor u = 1 - uniform(keys[1], {}, a.dtype());
    return d * v3 * select(is_large, 1, pow(u, 1 / a));
  }
  const Tensor log_u = -exponential(keys[1], {}, a.dtype());
  return log(d) + log(v3) + select(is_large | equal(log_u, 0), 0, log_u * (1 / a));
}

// Draws each element with a key of its own.
Tensor drawn(const Key& key, const Tensor& a, Space space) {
  const Tensor flat = flatten(a);
  const Tensor keys = split(key, flat.dim(0)).data();
  const auto draw = [&](const Values& v) {
    return Values{one_gamma(Key::wrap(v[0], key.impl()), v[1], space)};
  };
  const Tensor y = key.impl() == PrngImpl::kThreefry2x32 ? vmap(draw, {keys, flat})[0]
                                                         : scan(
                                                               [&](const Values&, const Values& x) {
                                                                 return ScanResult{{}, draw(x)};
                                                               },
                                                               {}, {keys, flat}, flat.dim(0))
                                                               .ys[0];
  return reshape(y, a.shape());
}

// The loops of a draw have no gradient: that of its distribution takes its place.
Tensor gammas(const Key& key, const Shape& shape, const Tensor& a, Space space) {
  const auto forward = [space, impl = key.impl()](const Values& v) {
    const Tensor y = drawn(Key::wrap(v[1], impl), v[0], space);
    return WithResiduals{{y}, {v[0], y}};
  };
  const auto backward = [space](const Values& residuals, const Values& g) {
    const auto gradient = space == Space::kLinear ? gamma_gradient : loggamma_gradient;
    return Values{g[0] * gradient(residuals[0], residuals[1]), Tensor()};
  };
  return custom_vjp({.name = space == Space::kLinear ? "random::gamma" : "random::loggamma",
                     .forward = forward,
                     .backward = backward},
                    {broadcast_to(a, shape), key.data()})[0];
}

Shape appended(Shape shape, int64_t dim) {
  shape.push_back(dim);
  return shape;
}

}  // namespace

Tensor gamma(const Key& key, const Shape& shape, const Tensor& a) {
  check_draw("random::gamma", key, shape, {{"a", a}});
  return gammas(key, shape, a, Space::kLinear);
}

Tensor loggamma(const Key& key, const Shape& shape, const Tensor& a) {
  check_draw("random::loggamma", key, shape, {{"a", a}});
  return gammas(key, shape, a, Space::kLog);
}

Tensor beta(const Key& key, const Shape& shape, const Tensor& a, const Tensor& b) {
  check_draw("random::beta", key, shape, {{"a", a}, {"b", b}});
  const std::vector<Key> keys = split_each(key);
  const Tensor log_a = loggamma(keys[0], shape, a), log_b = loggamma(keys[1], shape, b);
  const Tensor largest = maximum(log_a, log_b);
  const Tensor part = exp(log_a - largest);
  return part / (part + exp(log_b - largest));
}

Tensor dirichlet(const Key& key, const Shape& batch, const Tensor& alpha) {
  if (alpha.rank() < 1) shape_error("random::dirichlet", "expected alpha[.., n]", {alpha});
  const Shape shape = appended(batch, alpha.dim(-1));
  check_draw("random::dirichlet", key, shape, {{"alpha", alpha}});
  return softmax(loggamma(key, shape, alpha));
}

Tensor chisquare(const Key& key, const Shape& shape, const Tensor& df) {
  check_draw("random::chisquare", key, shape, {{"df", df}});
  return exp(loggamma(key, shape, df / 2)) * 2;
}

Tensor student_t(const Key& key, const Shape& shape, const Tensor& df) {
  check_draw("random::student_t", key, shape, {{"df", df}});
  const std::vector<Key> keys = split_each(key);
  const Tensor half = df / 2;
  return normal(keys[0], shape, df.dtype()) * sqrt(half / gamma(keys[1], shape, half));
}

Tensor f_ratio(const Key& key, const Shape& shape, const Tensor& numerator_df,
               const Tensor& denominator_df) {
  check_draw("random::f_ratio", key, shape,
             {{"numerator_df", numerator_df}, {"denominator_df", denominator_df}});
  const std::vector<Key> keys = split_each(key);
  return chisquare(keys[1], shape, numerator_df) / numerator_df /
         (chisquare(keys[0], shape, denominator_df) / denominator_df);
}

Tensor generalized_normal(const Key& key, const Shape& shape, const Tensor& p) {
  check_draw("random::generalized_normal", key, shape, {{"p", p}});
  const std::vector<Key> keys = split_each(key);
  const Tensor power = broadcast_to(1 / p, shape);
  return rademacher(keys[1], shape, p.dtype()) * pow(gamma(keys[0], shape, 1 / p), power);
}

Tensor ball(const Key& key, const Shape& batch, int64_t dim, const Tensor& p) {
  if (p.rank() != 0) shape_error("random::ball", "expected a scalar p", {p});
  check_draw("random::ball", key, appended(batch, dim), {{"p", p}});
  const std::vector<Key> keys = split_each(key);
  const Tensor g = generalized_normal(keys[0], appended(batch, dim), p);
  const Tensor size = reduce_sum(pow(abs(g), broadcast_to(p, g.shape())), {g.rank() - 1}) +
                      exponential(keys[1], batch, p.dtype());
  return g / expand_dims(pow(size, broadcast_to(1 / p, batch)), -1);
}

}  // namespace axle::random
