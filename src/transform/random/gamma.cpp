#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/random/samplers.h"
#include "transform/vmap.h"

namespace axle::random {

namespace {

constexpr int kMaxTerms = 2000;

bool is_f64(const Tensor& x) { return x.dtype() == DType::kF64; }
double epsilon_of(const Tensor& x) {
  return is_f64(x) ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

// Runs `step` until no element goes on. The carry is (number of steps, who goes on, rest..).
Values iterated(const WhileBody& step, const Tensor& like, const Values& rest) {
  Values init{scalar(0, DType::kI32), ones(like.shape(), DType::kPred)};
  init.insert(init.end(), rest.begin(), rest.end());
  return while_loop(
      [](const Values& carry) {
        return (carry[0] < kMaxTerms) & reduce_or(carry[1], all_axes(carry[1]));
      },
      [&](const Values& carry) {
        Values next = step(carry);
        // The sums of an element that has converged stay: more terms would only add rounding.
        for (size_t i = 1; i < next.size(); ++i) next[i] = select(carry[1], next[i], carry[i]);
        return next;
      },
      init);
}

// Returns dy/da by the series P = x^a exp(-x) / Gamma(a + 1) * sum of c_n, where c_0 = 1 and c_n =
// c_{n-1} x / (a + n).
Tensor by_series(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor one = ones(a.shape(), a.dtype()), zero = zeros(a.shape(), a.dtype());
  const double epsilon = epsilon_of(a);
  const Values end = iterated(
      [&](const Values& v) {
        const Tensor n = v[2] + 1, ratio = x / n;
        const Tensor dc = ratio * (v[4] - v[3] / n), c = v[3] * ratio;
        const Tensor sum = v[5] + c, dsum = v[6] + dc;
        const Tensor goes_on = (c > epsilon * sum) | (abs(dc) > epsilon * abs(dsum));
        return Values{v[0] + 1, goes_on, n, c, dc, sum, dsum};
      },
      a, {a, one, zero, one, zero});
  return -((y - digamma(a + 1)) * end[5] + end[6]) / a;
}

// Returns dy/da by the continued fraction 1 - P = x^a exp(-x) / Gamma(a) * p_n / q_n. Both parts of
// the fraction obey one recurrence: r_n = (x + 2 - a + 2n) r_{n-1} - (n + 1 - a) n r_{n-2}.
Tensor by_fraction(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor one = ones(a.shape(), a.dtype()), zero = zeros(a.shape(), a.dtype());
  const double epsilon = epsilon_of(a);
  enum { kSteps, kGoesOn, kP1, kP2, kQ1, kQ2, kDp1, kDp2, kDq1, kDq2, kValue, kDerivative };
  const Tensor q1 = (x + 2 - a) * x, value = (x + 1) / q1;
  const Values end = iterated(
      [&](const Values& v) {
        const Tensor n = astype(v[kSteps] + 1, a.dtype());
        const Tensor z = x + 2 - a + 2 * n, u = (n + 1 - a) * n;
        const auto next = [&](int at) { return v[at] * z - v[at + 1] * u; };
        const auto next_derivative = [&](int at, int of) {
          return v[at] * z - v[of] - v[at + 1] * u + v[of + 1] * n;
        };
        const Tensor p = next(kP1), q = next(kQ1);
        const Tensor dp = next_derivative(kDp1, kP1), dq = next_derivative(kDq1, kQ1);
        const Tensor ratio = p / q, derivative = (dp - ratio * dq) / q;
        const Tensor goes_on =
            (abs(ratio - v[kValue]) > epsilon * abs(ratio)) |
            (abs(derivative - v[kDerivative]) > epsilon * (abs(derivative) + abs(ratio)));
        // Only the ratios matter, so that numbers that grow too large are scaled down.
        const Tensor scale = select(abs(p) > 1 / epsilon, full_like(p, epsilon), 1);
        return Values{v[kSteps] + 1, goes_on,         p * scale,  v[kP1] * scale,
                      q * scale,     v[kQ1] * scale,  dp * scale, v[kDp1] * scale,
                      dq * scale,    v[kDq1] * scale, ratio,      derivative};
      },
      a, {x + 1, one, q1, x, zero, zero, -x, zero, value, x * value / q1});
  return (y - digamma(a)) * end[kValue] + end[kDerivative];
}

// Returns dx/da for large a, where x = a + sqrt(a) w(z): w is the Cornish-Fisher expansion in
// powers of e = 1 / sqrt(a), and z is normal.
Tensor by_expansion(const Tensor& a, const Tensor& x) {
  const Tensor e = 1 / sqrt(a), w = (x - a) * e;
  const auto terms = [](const Tensor& z) {
    const Tensor z2 = z * z;
    return Values{(z2 - 1) / 3, z * (z2 - 7) / 36, -(z2 * (3 * z2 + 7) - 16) / 810,
                  z * (z2 * (9 * z2 + 256) - 433) / 38880};
  };
  const auto slopes = [](const Tensor& z) {
    const Tensor z2 = z * z;
    return Values{2 * z / 3, (3 * z2 - 7) / 36, -z * (12 * z2 + 14) / 810,
                  (z2 * (45 * z2 + 768) - 433) / 38880};
  };
  const auto sum = [&](const Tensor& first, const Values& c) {
    return first + e * (c[0] + e * (c[1] + e * (c[2] + e * c[3])));
  };
  Tensor z = w;
  for (int newton = 0; newton < 3; ++newton)
    z = z - (sum(z, terms(z)) - w) / sum(full_like(z, 1), slopes(z));
  // The term of e^k is one of a^((1 - k) / 2).
  const Values c = terms(z);
  return 1 + e * (z / 2 - e * e * (c[1] / 2 + e * (c[2] + e * 1.5 * c[3])));
}

// Returns dy/da for y = log(x). All have one shape and are f32 or f64.
Tensor log_gradient(const Tensor& a, const Tensor& y, const Tensor& x) {
  const Tensor is_large = a > (is_f64(a) ? 1e4 : 100), is_right = (x > 1) & (x > a);
  // Each way gets numbers that end it at once where another one counts.
  const Tensor in_series = (a > 0) & ~is_large & ~is_right;
  const Tensor series =
      by_series(select(in_series, a, 1), select(in_series, y, 0), select(in_series, x, 0));
  const Tensor in_fraction = (a > 0) & ~is_large & is_right;
  const Tensor fraction = by_fraction(select(in_fraction, a, 1), select(in_fraction, y, 0),
                                      select(in_fraction, x, 1e4));
  const Tensor expansion =
      by_expansion(select(is_large, a, 1e6), select(is_large, x, 1e6)) / select(is_large, x, 1);
  return select(is_large, expansion, select(is_right, fraction, series));
}

// Calls fn(a, x) with operands of one shape, in f32 or f64.
Tensor in_wide_dtype(std::string_view op, const Tensor& a, const Tensor& x,
                     const std::function<Tensor(const Tensor& a, const Tensor& x)>& fn) {
  if (!is_float(a.dtype()) || x.dtype() != a.dtype()) {
    shape_error(op,
                fmt::format("expected floats of one dtype, got {} and {}", name_of(a.dtype()),
                            name_of(x.dtype())),
                {a, x});
  }
  const DType wide = wide_dtype(a.dtype());
  const auto [p, q] = broadcast_together(astype(a, wide), astype(x, wide), op);
  const Tensor y = select(p > 0, fn(p, q), std::numeric_limits<double>::quiet_NaN());
  return astype(y, a.dtype());
}

}  // namespace

Tensor gamma_gradient(const Tensor& a, const Tensor& x) {
  return in_wide_dtype("random::gamma_gradient", a, x, [](const Tensor& p, const Tensor& q) {
    const Tensor positive = select(q > 0, q, 1);
    const Tensor dx = positive * log_gradient(p, log(positive), positive);
    return select(q > 0, dx, select(equal(q, 0), 0, full_like(q, std::nan(""))));
  });
}

Tensor loggamma_gradient(const Tensor& a, const Tensor& y) {
  return in_wide_dtype("random::loggamma_gradient", a, y,
                       [](const Tensor& p, const Tensor& q) { return log_gradient(p, q, exp(q)); });
}

// They use JAX's order of operations and of keys, so that the last bits agree.

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
