#include <fmt/format.h>

#include <algorithm>

#include "ir/op_rules.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
#include "transform/linalg/linalg.h"
#include "transform/linalg/matrices.h"
#include "transform/random/samplers.h"

namespace axle::random {

// They use JAX's order of operations and of keys, so that the last bits agree.

namespace {

Tensor any(const Tensor& p) { return reduce_or(p, all_axes(p)); }

// Counts uniform numbers until their product falls below exp(-rate).
Tensor small_poisson(const Key& key, const Tensor& rate) {
  const Values end = while_loop(
      [&](const Values& carry) { return any(carry[2] > -rate); },
      [&](const Values& carry) {
        const std::vector<Key> keys = split_each(Key::wrap(carry[0], key.impl()));
        const Tensor count = select(carry[2] > -rate, carry[1] + 1, carry[1]);
        return Values{keys[0].data(), count, carry[2] + log(uniform(keys[1], rate.shape()))};
      },
      {key.data(), zeros_like(rate), zeros_like(rate)});
  return end[1] - 1;
}

// A draw of the transformed rejection method: `position` is uniform in [-1/2, 1/2), `distance` is
// that from the nearer end, `height` is uniform in [0, 1).
struct Draw {
  Tensor position, distance, height;
};

// Draws candidates until all elements are accepted; returns the accepted ones. `candidate` returns
// a candidate and whether it is accepted.
Tensor transformed_rejection(
    const Key& key, const Tensor& like,
    const std::function<std::pair<Tensor, Tensor>(const Draw&)>& candidate) {
  return while_loop(
      [](const Values& carry) { return any(~carry[2]); },
      [&](const Values& carry) {
        const std::vector<Key> keys = split_each(Key::wrap(carry[0], key.impl()), 3);
        const Tensor u = uniform(keys[1], like.shape(), like.dtype()) - 0.5;
        const auto [k, is_accepted] =
            candidate({u, 0.5 - abs(u), uniform(keys[2], like.shape(), like.dtype())});
        return Values{keys[0].data(), select(is_accepted, k, carry[1]), carry[2] | is_accepted};
      },
      {key.data(), full_like(like, -1), zeros(like.shape(), DType::kPred)})[1];
}

// The constants are those of Hormann's PTRS, for rates from 10.
Tensor large_poisson(const Key& key, const Tensor& rate) {
  const Tensor log_rate = log(rate);
  const Tensor b = 0.931 + 2.53 * sqrt(rate);
  const Tensor a = -0.059 + 0.02483 * b;
  const Tensor inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const Tensor most_height = 0.9277 - 3.6224 / (b - 2);
  return transformed_rejection(key, rate, [&](const Draw& draw) {
    const Tensor &us = draw.distance, &v = draw.height;
    const Tensor k = floor((2 * a / us + b) * draw.position + rate + 0.43);
    const Tensor s = log(v * inverse_alpha / (a / (us * us) + b));
    const Tensor t = -rate + k * log_rate - lgamma(k + 1);
    const Tensor is_inside = (us >= 0.07) & (v <= most_height);
    const Tensor is_outside = (k < 0) | ((us < 0.013) & (v > us));
    return std::pair(k, is_inside | (~is_outside & (s <= t)));
  });
}

// Adds up geometric numbers, the trials from one success to the next, until they exceed n.
Tensor small_binomial(const Key& key, const Tensor& n, const Tensor& p) {
  const Tensor log_failure = log1p(-p);
  const Values end = while_loop(
      [&](const Values& carry) { return any(carry[2] <= n); },
      [&](const Values& carry) {
        const std::vector<Key> keys = split_each(Key::wrap(carry[0], key.impl()));
        const Tensor count = select(carry[2] <= n, carry[1] + 1, carry[1]);
        const Tensor trials = ceil(log(uniform(keys[0], n.shape(), n.dtype())) / log_failure);
        return Values{keys[1].data(), count, carry[2] + trials};
      },
      {key.data(), zeros_like(n), zeros_like(n)});
  return end[1] - 1;
}

// Returns log(k!) minus Stirling's approximation of it, for whole k >= 0.
Tensor stirling_error(const Tensor& k) {
  const HostTensor table(
      {10}, {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
             0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
             0.00925546218271273, 0.00833056343336287});
  const Tensor square = (k + 1) * (k + 1);
  const Tensor series = (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / (k + 1);
  const Tensor index = astype(floor(clamp(0, k, 9)), DType::kI32);
  return select(k <= 9, take(constant(table.astype(k.dtype())), index), series);
}

// The constants are those of Hormann's BTRS, for n p from 10 and p up to 1/2.
Tensor large_binomial(const Key& key, const Tensor& n, const Tensor& p) {
  const Tensor deviation = sqrt(n * p * (1 - p));
  const Tensor b = 1.15 + 2.53 * deviation;
  const Tensor a = -0.0873 + 0.0248 * b + 0.01 * p;
  const Tensor center = n * p + 0.5;
  const Tensor most_height = 0.92 - 4.2 / b;
  const Tensor odds = p / (1 - p);
  const Tensor alpha = (2.83 + 5.1 / b) * deviation;
  const Tensor m = floor((n + 1) * p);
  return transformed_rejection(key, n, [&](const Draw& draw) {
    const Tensor& us = draw.distance;
    const Tensor k = floor((2 * a / us + b) * draw.position + center);
    const Tensor v = log(draw.height * alpha / (a / (us * us) + b));
    const Tensor bound = (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) +
                         (n + 1) * log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_error(m) +
                         stirling_error(n - m) - stirling_error(k) - stirling_error(n - k);
    const Tensor is_inside = (us >= 0.07) & (draw.height <= most_height);
    const Tensor is_outside = (k < 0) | (k > n);
    return std::pair(k, is_inside | (~is_outside & (v <= bound)));
  });
}

}  // namespace

Tensor poisson(const Key& key, const Shape& shape, const Tensor& rate, DType dtype) {
  if (!is_integer(dtype)) {
    shape_error("random::poisson", "expected an integer dtype for the result", {rate});
  }
  const Tensor wide = astype(stop_gradient(rate), DType::kF32);
  check_draw("random::poisson", key, shape, {{"rate", wide}});
  const Tensor lambda = broadcast_to(wide, shape);
  const Tensor is_valid = (lambda >= 0) & is_finite(lambda);
  const Tensor is_small = lambda < 10;
  // Each of the two loops gets rates that end it at once where the other one counts.
  const Tensor small = small_poisson(key, select(is_small & is_valid, lambda, 0));
  const Tensor large = large_poisson(key, select(is_small | ~is_valid, 1e5, lambda));
  const Tensor drawn = select(is_small, small, large);
  return astype(select(is_valid, select(equal(lambda, 0), 0, drawn), -1), dtype);
}

Tensor binomial(const Key& key, const Shape& shape, const Tensor& n, const Tensor& p) {
  check_draw("random::binomial", key, shape, {{"n", n}, {"p", p}});
  const Tensor trials = broadcast_to(stop_gradient(n), shape);
  const Tensor chance = broadcast_to(stop_gradient(p), shape);
  // The rarer one of success and failure is counted.
  const Tensor is_rare = chance < 0.5;
  const Tensor rare = select(is_rare, chance, 1 - chance);
  const Tensor is_valid = (trials >= 0) & (rare >= 0);
  const Tensor q = select(is_valid, rare, 0.01);
  const Tensor is_small = ~is_valid | (trials * q <= 10);
  const Tensor whole = floor(trials);
  // Each of the two loops gets arguments that end it at once where the other one counts.
  const Tensor is_large = ~is_small & is_finite(whole);
  const Tensor small = small_binomial(key, select(is_small & is_valid, whole, 0), q);
  const Tensor large = large_binomial(key, select(is_large, whole, 1e4), select(is_large, q, 0.5));
  const Tensor counted = select(is_small, small, large);
  const Tensor finite = select(is_rare, counted, whole - counted);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return select(is_valid, select(is_finite(trials), finite, kInfinity),
                std::numeric_limits<double>::quiet_NaN());
}

Tensor multinomial(const Key& key, const Shape& batch, const Tensor& n, const Tensor& p) {
  if (p.rank() < 1) shape_error("random::multinomial", "expected probabilities p[.., k]", {p});
  const int64_t k = p.dim(-1);
  Shape shape = batch;
  shape.push_back(k);
  check_draw("random::multinomial", key, batch, {{"n", n}});
  check_draw("random::multinomial", key, shape, {{"p", p}});
  const Tensor by_outcome = move_axis(broadcast_to(p, shape), -1, 0);
  // Outcome i has this part of the trials that are left after the outcomes before it.
  const Tensor left = cumsum(by_outcome, 0, true);
  const Tensor part = clamp(0, by_outcome / select(equal(left, 0), 1, left), 1);
  const Tensor counts = scan(
                            [&](const Values& rest, const Values& xs) {
                              const Tensor count =
                                  binomial(Key::wrap(xs[1], key.impl()), batch, rest[0], xs[0]);
                              return ScanResult{{rest[0] - count}, {count}};
                            },
                            {broadcast_to(n, batch)}, {part, split(key, k).data()}, k)
                            .ys[0];
  return move_axis(counts, 0, -1);
}

Tensor orthogonal(const Key& key, const Shape& batch, int64_t rows, int64_t columns, DType dtype) {
  check_at_least("random::orthogonal", "a number of rows", rows, 1, {key.data()});
  check_at_least("random::orthogonal", "a number of columns", columns, 1, {key.data()});
  check_draw("random::orthogonal", key, batch);
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    shape_error("random::orthogonal", fmt::format("expected f32 or f64, got {}", name_of(dtype)),
                {key.data()});
  }
  const int64_t longer = std::max(rows, columns), shorter = std::min(rows, columns);
  Shape shape = batch;
  shape.insert(shape.end(), {longer, shorter});
  const auto [q, r] = qr(normal(key, shape, dtype));
  // The signs of qr depend on its method. Those of the diagonal of r make the draws uniform.
  const Tensor x = q * expand_dims(sign(diagonal(r)), -2);
  return rows < columns ? transposed(x) : x;
}

}  // namespace axle::random
