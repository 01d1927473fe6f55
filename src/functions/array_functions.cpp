// The functions of indexing, movement, collectives, random numbers and linear algebra.
#include "functions/function.h"
#include "ops/ops.h"
#include "transform/random/samplers.h"
#include "transform/transform.h"

namespace axle {
namespace {

std::vector<Function> positions() {
  return {function("dynamic_slice(x, starts, sizes)", dynamic_slice),
          function("dynamic_update_slice(x, update, starts)", dynamic_update_slice),
          function("dynamic_slice_in_dim(x, start, size, axis=0)", dynamic_slice_in_dim),
          function("dynamic_index_in_dim(x, index, axis=0)", dynamic_index_in_dim),
          function("dynamic_update_slice_in_dim(x, update, start, axis=0)",
                   dynamic_update_slice_in_dim),
          function("dynamic_update_index_in_dim(x, update, index, axis=0)",
                   dynamic_update_index_in_dim),
          function("dynamic_roll(x, shift, axis=0)", dynamic_roll),
          function("gather(operand, indices, dims, sizes, options)", gather),
          function("scatter(operand, indices, updates, dims, options)", scatter),
          function("scatter_add(operand, indices, updates, dims, options)", scatter_add),
          function("scatter_mul(operand, indices, updates, dims, options)", scatter_mul),
          function("scatter_min(operand, indices, updates, dims, options)", scatter_min),
          function("scatter_max(operand, indices, updates, dims, options)", scatter_max)};
}

std::vector<Function> along_axes() {
  return {function("take(x, indices, axis=0, options)", take),
          function("take_along_axis(x, indices, axis=-1, options)", take_along_axis),
          function("from_end(indices, size)", from_end),
          function("add_at(x, indices, updates, axis=0, options)", add_at),
          function("multiply_at(x, indices, updates, axis=0, options)", multiply_at),
          function("min_at(x, indices, updates, axis=0, options)", min_at),
          function("max_at(x, indices, updates, axis=0, options)", max_at),
          function("set_at(x, indices, updates, axis=0, options)", set_at),
          function("add_along_axis(x, indices, updates, axis=-1, options)", add_along_axis),
          function("set_along_axis(x, indices, updates, axis=-1, options)", set_along_axis),
          function("batched_take(x, indices, num_batch_dims=1)", batched_take),
          function("batched_put_rows(x, starts, updates)", batched_put_rows),
          function("one_hot(indices, n, dtype=f32)", one_hot)};
}

std::vector<Function> order() {
  return {function("sort(x, axis=-1, order=ascending)",
                   overload<Tensor(const Tensor&, int64_t, SortOrder)>(sort)),
          function("sort_key_val(operands, axis=-1, num_keys=1, order=ascending)", sort_key_val),
          function("argsort(x, axis=-1, order=ascending)", argsort),
          function("top_k(x, k)", top_k),
          function("approx_max_k(x, k, axis=-1, options)", approx_max_k),
          function("searchsorted(sorted, values, side=left)", searchsorted),
          function("digitize(x, edges, closed=left)", digitize),
          function("isin(x, set)", isin),
          function("bincount(x, length)", overload<Tensor(const Tensor&, int64_t)>(bincount)),
          function("bincount(x, weights, length)",
                   overload<Tensor(const Tensor&, const Tensor&, int64_t)>(bincount)),
          function("nonzero(x, size, fill=0)", nonzero),
          function("unique(x, size, fill=none)",
                   overload<Unique(const Tensor&, int64_t, std::optional<Scalar>)>(unique))};
}

const FunctionFamily kPositions(positions), kAlongAxes(along_axes), kOrder(order);

// Rows of the functions that make tensors or rearrange their elements at positions known while
// tracing.

std::vector<Function> creation() {
  return {function("full(shape, value, dtype=f32)", full),
          function("zeros(shape, dtype=f32)", zeros),
          function("ones(shape, dtype=f32)", ones),
          function("zeros_like(t)", zeros_like),
          function("full_like(t, value)", full_like),
          function("scalar(value, dtype=f32)", scalar),
          function("constant(value)", constant),
          function("iota(shape, axis, dtype=i32)", iota),
          function("linspace(start, stop, count, dtype=f32, last=inclusive)", linspace),
          function("eye(rows, columns, offset=0, dtype=f32)", eye),
          function("tri(rows, columns, offset=0, dtype=f32)", tri)};
}

std::vector<Function> shapes() {
  return {function("reshape(x, shape)", reshape),
          function("transpose(x, perm)", transpose),
          function("swap_axes(x, a, b)", swap_axes),
          function("move_axis(x, from, to)", move_axis),
          function("squeeze(x, axes)", squeeze),
          function("expand_dims(x, axis)", expand_dims),
          function("flatten(x, first=0, last=-1)", flatten),
          function("unflatten(x, axis, sizes)", unflatten),
          function("reverse(x, axes)", overload<Tensor(const Tensor&, const Shape&)>(reverse)),
          function("broadcast_in_dim(x, shape, dims)", broadcast_in_dim),
          function("broadcast_to(x, shape)", broadcast_to),
          function("broadcast_together(a, b, op=broadcast_together)", broadcast_together),
          function("meshgrid(axes, order=cartesian)", meshgrid),
          function("tril(x, offset=0)", tril),
          function("triu(x, offset=0)", triu),
          function("diagonal(x, offset=0)", diagonal),
          function("diagonal_matrix(x, offset=0)", diagonal_matrix),
          function("matrix_trace(x, offset=0)", matrix_trace)};
}

std::vector<Function> slices() {
  using PadWithTensor =
      Tensor(const Tensor&, const Tensor&, const Shape&, const Shape&, const Shape&);
  using PadWithNumber = Tensor(const Tensor&, Scalar, const Shape&, const Shape&, const Shape&);
  return {
      function("slice(x, starts, limits, strides=[])",
               overload<Tensor(const Tensor&, const Shape&, const Shape&, const Shape&)>(slice)),
      function("slice_in_dim(x, axis, start, limit, stride=1)", slice_in_dim),
      function("index_in_dim(x, axis, i)", index_in_dim),
      function("pad(x, value, low, high, interior=[])", overload<PadWithTensor>(pad)),
      function("pad(x, value, low, high, interior=[])", overload<PadWithNumber>(pad)),
      function("pad_in_dim(x, axis, low, high, value=0)", pad_in_dim),
      function("concatenate(parts, axis)", concatenate),
      function("stack(parts, axis=0)", stack),
      function("split(x, sizes, axis)",
               overload<Values(const Tensor&, const Shape&, int64_t)>(split)),
      function("split_equally(x, count, axis)", split_equally),
      function("roll(x, shift, axis)", roll),
      function("tile(x, repeats)", tile),
      function("repeat(x, count, axis)", repeat)};
}

std::vector<Function> annotations() {
  return {function("name(x, tag)", name),
          function("tap(name, x)", tap),
          function("tap_gradient(name, x)", tap_gradient),
          function("stop_gradient(x)", stop_gradient),
          function("optimization_barrier(values)", optimization_barrier),
          function("place(x, memory)", place)};
}

const FunctionFamily kCreation(creation), kShapes(shapes), kSlices(slices),
    kAnnotations(annotations);

// Rows of ops/collectives. They are called inside of shard_map, over the axes of its mesh.

Tensor ragged_all_to_all_by_parts(const Tensor& operand, const Tensor& output,
                                  const Tensor& input_offsets, const Tensor& send_sizes,
                                  const Tensor& output_offsets, const Tensor& recv_sizes,
                                  const DimAxes& axes) {
  return ragged_all_to_all(operand, output,
                           {.input_offsets = input_offsets,
                            .send_sizes = send_sizes,
                            .output_offsets = output_offsets,
                            .recv_sizes = recv_sizes},
                           axes);
}

std::vector<Function> collective_rows() {
  return {function("psum(x, axes)", psum),
          function("pmean(x, axes)", pmean),
          function("pmax(x, axes)", pmax),
          function("pmin(x, axes)", pmin),
          function("axis_index(axes)", axis_index),
          function("all_gather(x, axes, dim)", all_gather),
          function("reduce_scatter(x, axes, dim)", reduce_scatter),
          function("all_to_all(x, axes, split_dim, concat_dim)", all_to_all),
          function("ppermute(x, axes, pairs)", ppermute),
          function("ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, "
                   "recv_sizes, axes)",
                   ragged_all_to_all_by_parts),
          function("sharding_constraint(x, spec)", sharding_constraint)};
}

const FunctionFamily kCollectives(collective_rows);

// Rows of the random numbers.

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

// Rows of transform/linalg.

std::vector<Function> linalg_rows() {
  return {function("cholesky(x)", cholesky),
          function("eigh(x)", eigh),
          function("qr(x)", qr),
          function("vector_norm(x, axes=[-1], p=2, keep_dims=false)", vector_norm),
          function("matrix_norm(x, norm=frobenius)", matrix_norm),
          function("solve(a, b)", solve),
          function("cho_solve(l, b)", cho_solve),
          function("inverse(x)", inverse),
          function("triangular_solve(a, b, options)", triangular_solve)};
}

const FunctionFamily kLinalg(linalg_rows);

}  // namespace
}  // namespace axle
