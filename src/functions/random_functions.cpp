// Rows of the random numbers.
#include "functions/function.h"
#include "ops/ops.h"
#include "transform/random/counts.h"
#include "transform/random/gamma.h"
#include "transform/random/gamma_gradient.h"
#include "transform/random/matrices.h"

namespace axle {
namespace {

using namespace random;
using KeyRef = const Key&;
using Number = const Tensor&;
using Sizes = const Shape&;

std::vector<Function> keys() {
  return {
      function("random::key: random::key_words(seed, impl=threefry2x32)", key_words),
      function("random::random_key(seed, impl=threefry2x32)", random_key),
      function("random::split(key, n=2)", overload<Key(KeyRef, int64_t)>(random::split)),
      function("random::split_each(key, n=2)", split_each),
      function("random::fold_in(key, number)", overload<Key(KeyRef, uint32_t)>(fold_in)),
      function("random::fold_in(key, number)", overload<Key(KeyRef, Number)>(fold_in)),
      function("random::bits(key, width, shape)", overload<Tensor(KeyRef, int, Sizes)>(bits)),
      function("random::bits(key, shape, dtype)", overload<Tensor(KeyRef, Sizes, DType)>(bits)),
      function("rng_bit_generator(key, shape, dtype=u32)", rng_bit_generator),
      function("random::rbg_split(key, n)", rbg_split),
      function("random::rbg_fold_in(key, high, low)", rbg_fold_in),
      function("random::rbg_bits(key, width, shape)", rbg_bits),
      function("threefry2x32(k0, k1, x0, x1)",
               overload<std::pair<Tensor, Tensor>(Number, Number, Number, Number)>(threefry2x32))};
}

std::vector<Function> floats() {
  return {function("random::uniform(key, shape, dtype=f32, low=0, high=1)",
                   overload<Tensor(KeyRef, Sizes, DType, double, double)>(uniform)),
          function("random::uniform(key, shape, low, high)",
                   overload<Tensor(KeyRef, Sizes, Number, Number)>(uniform)),
          function("random::normal(key, shape, dtype=f32)", normal),
          function("random::truncated_normal(key, shape, low, high, dtype=f32)", truncated_normal),
          function("random::bernoulli(key, shape, p=0.5)",
                   overload<Tensor(KeyRef, Sizes, double)>(bernoulli)),
          function("random::bernoulli(key, shape, p)",
                   overload<Tensor(KeyRef, Sizes, Number)>(bernoulli)),
          function("random::rademacher(key, shape, dtype=f32)", rademacher),
          function("random::exponential(key, shape, dtype=f32)", exponential),
          function("random::gumbel(key, shape, dtype=f32)", gumbel),
          function("random::laplace(key, shape, dtype=f32)", laplace),
          function("random::logistic(key, shape, dtype=f32)",
                   overload<Tensor(KeyRef, Sizes, DType)>(random::logistic)),
          function("random::cauchy(key, shape, dtype=f32)", cauchy)};
}

std::vector<Function> distributions() {
  return {function("random::pareto(key, shape, b)", pareto),
          function("random::lognormal(key, shape, sigma)", lognormal),
          function("random::rayleigh(key, shape, scale)", rayleigh),
          function("random::wald(key, shape, mean)", wald),
          function("random::weibull_min(key, shape, scale, concentration)", weibull_min),
          function("random::triangular(key, shape, left, mode, right)", triangular),
          function("random::geometric(key, shape, p, dtype=i32)", geometric),
          function("random::maxwell(key, shape, dtype=f32)", maxwell),
          function("random::double_sided_maxwell(key, shape, loc, scale)", double_sided_maxwell),
          function("random::multivariate_normal(key, batch, mean, factor)", multivariate_normal),
          function("random::gamma(key, shape, a)", overload<Tensor(KeyRef, Sizes, Number)>(gamma)),
          function("random::loggamma(key, shape, a)", loggamma),
          function("random::gamma_gradient(a, x)", gamma_gradient),
          function("random::loggamma_gradient(a, y)", loggamma_gradient),
          function("random::beta(key, shape, a, b)",
                   overload<Tensor(KeyRef, Sizes, Number, Number)>(beta)),
          function("random::dirichlet(key, batch, alpha)", dirichlet),
          function("random::chisquare(key, shape, df)", chisquare),
          function("random::student_t(key, shape, df)", student_t),
          function("random::f_ratio(key, shape, numerator_df, denominator_df)", f_ratio),
          function("random::generalized_normal(key, shape, p)", generalized_normal),
          function("random::ball(key, batch, dim, p)", ball),
          function("random::poisson(key, shape, rate, dtype=i32)", poisson),
          function("random::binomial(key, shape, n, p)", binomial),
          function("random::multinomial(key, batch, n, p)", multinomial),
          function("random::orthogonal(key, batch, rows, columns, dtype=f32)", orthogonal)};
}

std::vector<Function> choices() {
  return {function("random::randint(key, shape, low, high, dtype=i32)",
                   overload<Tensor(KeyRef, Sizes, int64_t, int64_t, DType)>(randint)),
          function("random::randint(key, shape, low, high)",
                   overload<Tensor(KeyRef, Sizes, Number, Number)>(randint)),
          function("random::permutation(key, n)", overload<Tensor(KeyRef, int64_t)>(permutation)),
          function("random::permutation(key, x, axis=0)",
                   overload<Tensor(KeyRef, Number, int64_t)>(permutation)),
          function("random::independent_permutation(key, x, axis=0)", independent_permutation),
          function("random::categorical(key, logits, axis=-1, batch=[], replacement=with)",
                   categorical),
          function("random::choice(key, n, shape, replacement=with)",
                   overload<Tensor(KeyRef, int64_t, Sizes, Replacement)>(choice)),
          function("random::choice(key, p, shape, replacement=with)",
                   overload<Tensor(KeyRef, Number, Sizes, Replacement)>(choice))};
}

const FunctionFamily kKeys(keys), kFloats(floats), kDistributions(distributions), kChoices(choices);

}  // namespace
}  // namespace axle
