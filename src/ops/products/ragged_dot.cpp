#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/dot_backward.h"
#include "ops/products/dot_eval.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

// Both ops have two batch dims, so that they are closed under vmap and differentiation: each of
// o sets of matrices serves i lists of rows.
//   ragged_dot:             [o, i, m, k] x [o, g, k, n] -> [o, i, m, n]
//   ragged_dot_contracting: [o, i, m, k] x [o, i, m, n] -> [o, g, k, n], summed over i
// The group sizes are [o, i, g].
struct RaggedAttributes : Attributes {
  explicit RaggedAttributes(DotOptions o) : options(o) {}
  DotOptions options;
  std::string text() const override { return to_text(options); }
};

struct RaggedSizes {
  int64_t o, i, m, k, n, g;
  int64_t rows() const { return o * i * m; }
};
RaggedSizes ragged_sizes(const OpNode& op) {
  const Tensor &lhs = op.inputs[0], &sizes = op.inputs[2];
  return {lhs.dim(0), lhs.dim(1), lhs.dim(2), lhs.dim(3), op.inputs[1].dim(3), sizes.dim(2)};
}

Tensor emit_ragged_dot(const Tensor& lhs, const Tensor& matrices, const Tensor& sizes,
                       const DotOptions& options);
Tensor emit_contracting(const Tensor& lhs, const Tensor& rhs, const Tensor& sizes,
                        const DotOptions& options);

// The public functions have checked that the ranks fit.
Type infer_result(const OpNode& op, const Shape& expected_rhs, Shape result) {
  const Tensor &lhs = op.inputs[0], &rhs = op.inputs[1], &sizes = op.inputs[2];
  if (!is_float(lhs.dtype()) || rhs.dtype() != lhs.dtype())
    shape_error(op, fmt::format("expected floats of one dtype, got {} and {}", name_of(lhs.dtype()),
                                name_of(rhs.dtype())));
  if (sizes.dtype() != DType::kI32)
    shape_error(op, fmt::format("expected i32 group sizes, got {}", name_of(sizes.dtype())));
  if (sizes.dim(0) != lhs.dim(0) || sizes.dim(1) != lhs.dim(1) || rhs.shape() != expected_rhs)
    shape_error(op, fmt::format("expected a second operand of {}, got {}", to_text(expected_rhs),
                                to_text(rhs.shape())));
  const DotOptions& options = op.attrs<RaggedAttributes>().options;
  const DType dtype = options.result_dtype.value_or(lhs.dtype());
  if (!is_float(dtype))
    shape_error(op, fmt::format("expected a float result, got {}", name_of(dtype)));
  const std::string wrong = mismatch(options, lhs.dtype(), rhs.dtype(), dtype);
  if (!wrong.empty()) shape_error(op, wrong);
  return {dtype, std::move(result)};
}

std::vector<Type> infer_ragged_dot(const OpNode& op) {
  const auto [o, i, m, k, n, g] = ragged_sizes(op);
  return {infer_result(op, {o, g, k, n}, {o, i, m, n})};
}
std::vector<Type> infer_contracting(const OpNode& op) {
  const auto [o, i, m, k, n, g] = ragged_sizes(op);
  return {infer_result(op, {o, i, m, n}, {o, g, k, n})};
}

// Calls product(ct) and multiplies it by the scale of ct, whose dims `axes` the product sums over.
// Where the algorithm has integers backward, ct is rounded to integers.
template <class Product>
Tensor backward_product(X x, const Tensor& ct, const std::vector<int64_t>& axes, DType dtype,
                        const Product& product) {
  if (x.attrs<RaggedAttributes>().options.algorithm != DotAlgorithm::kI8I8I32Backward)
    return astype(product(ct), dtype);
  const ScaledIntegers rounded = to_integers(ct, axes);
  const Tensor y = product(rounded.integers);
  return astype(astype(y, rounded.scale.dtype()) * rounded.scale, dtype);
}

Values vjp_ragged_dot(X x, Y, Ct g) {
  const auto [a, b, ct, options] = backward_operands(x, g[0], x.attrs<RaggedAttributes>().options);
  const Values operands{a, swap_axes(b, 2, 3), x[2]};
  return {backward_product(x, ct, {3}, x[0].dtype(),
                           [&, own = options](const Tensor& rows) {
                             return emit_ragged_dot(rows, operands[1], operands[2], own);
                           }),
          backward_product(x, ct, {1, 2}, x[1].dtype(),
                           [&, own = options](const Tensor& rows) {
                             return emit_contracting(operands[0], rows, operands[2], own);
                           }),
          Tensor()};
}
Values vjp_contracting(X x, Y, Ct g) {
  const auto [a, b, ct, options] = backward_operands(x, g[0], x.attrs<RaggedAttributes>().options);
  return {astype(emit_ragged_dot(b, swap_axes(ct, 2, 3), x[2], options), x[0].dtype()),
          astype(emit_ragged_dot(a, ct, x[2], options), x[1].dtype()), Tensor()};
}

// Calls fn(first row, number of rows, index of the matrix) for every group. Rows are counted
// through all lists.
template <class Fn>
void each_group(const RaggedSizes& s, const HostTensor& sizes, Fn fn) {
  for (int64_t list = 0; list < s.o * s.i; ++list) {
    int64_t begin = 0;
    for (int64_t g = 0; g < s.g; ++g) {
      const int64_t size = sizes.values<int32_t>()[list * s.g + g];
      const int64_t count = std::clamp<int64_t>(size, 0, s.m - begin);
      fn(list * s.m + begin, count, list / s.i * s.g + g);
      begin += count;
    }
  }
}

// Returns `count` rows, from row `first` on, of x as a list of rows of this width.
HostTensor rows_of(const HostTensor& x, int64_t first, int64_t count, int64_t width) {
  HostTensor out(Type{x.dtype(), {count, width}});
  const auto bytes = static_cast<size_t>(width) * size_bytes(x.dtype());
  const auto from = x.bytes().subspan(static_cast<size_t>(first) * bytes, out.bytes().size());
  std::ranges::copy(from, out.bytes().begin());
  return out;
}

void eval_ragged_dot(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                     std::span<HostTensor> y) {
  const RaggedSizes s = ragged_sizes(op);
  each_group(s, *x[2], [&](int64_t first, int64_t count, int64_t matrix) {
    HostTensor part(Type{y[0].dtype(), {count, s.n}});
    eval_dot({.a_contracting = {1}, .b_contracting = {0}}, rows_of(*x[0], first, count, s.k),
             rows_of(*x[1], matrix * s.k, s.k, s.n), part,
             op.attrs<RaggedAttributes>().options.algorithm);
    const auto at = static_cast<size_t>(first * s.n) * size_bytes(part.dtype());
    std::ranges::copy(part.bytes(), y[0].bytes().subspan(at).begin());
  });
}

void eval_contracting(const EvalOptions& options, const OpNode& op,
                      std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  const RaggedSizes s = ragged_sizes(op);
  const DType sum_dtype = options.stored({wide_dtype(op.outputs[0].dtype), {}}).dtype;
  HostTensor sum = y[0].astype(sum_dtype);
  each_group(s, *x[2], [&](int64_t first, int64_t count, int64_t matrix) {
    HostTensor part(Type{sum_dtype, {s.k, s.n}});
    eval_dot({.a_contracting = {0}, .b_contracting = {0}}, rows_of(*x[0], first, count, s.k),
             rows_of(*x[1], first, count, s.n), part,
             op.attrs<RaggedAttributes>().options.algorithm);
    dispatch(sum_dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (detail::Float<T>) {
        T* to = sum.values<T>().data() + matrix * s.k * s.n;
        for (const T v : part.values<T>()) *to++ += v;
      }
    });
  });
  y[0] = sum.astype(y[0].dtype());
}

// The lowering is a loop over tiles of rows. Each tile is a part of one group and is multiplied by
// the one matrix of its group. The number of tiles depends on the group sizes: at most
// rows / kTile + g. XLA's CPU compiler refuses chlo.ragged_dot, and a masked product of all rows
// with all matrices costs g times as much.

int64_t tile_rows(const RaggedSizes& s) {
  constexpr int64_t kLargest = 128;  // larger tiles of f32 or bf16 are no faster on CPUs
  constexpr int64_t kLeast = 8;
  const auto average = std::bit_ceil(static_cast<uint64_t>(s.m / s.g) + 1);
  return std::min(s.rows(), std::clamp<int64_t>(static_cast<int64_t>(average), kLeast, kLargest));
}

// Returns, for each group: the number of tiles up to its end, the first row minus the rows of all
// tiles before it, its last row + 1 and its matrix; and the number of all tiles.
Values tile_tables(const RaggedSizes& s, int64_t tile, const Tensor& sizes) {
  const Shape shape = {s.o * s.i, s.g};
  const Tensor ends = minimum(cumsum(maximum(reshape(sizes, shape), 0), 1), s.m);
  const Tensor starts =
      concatenate({zeros({shape[0], 1}, DType::kI32), slice_in_dim(ends, 1, 0, s.g - 1)}, 1);
  const Tensor tiles = flatten((ends - starts + (tile - 1)) / tile);
  const Tensor tile_ends = cumsum(tiles, 0);
  const Tensor list = iota(shape, 0);
  return {tile_ends, flatten(starts + list * s.m) - (tile_ends - tiles) * tile,
          flatten(ends + list * s.m), flatten(list / s.i * s.g + iota(shape, 1)),
          dynamic_index_in_dim(tile_ends, scalar(s.o * s.i * s.g - 1, DType::kI32))};
}

// One tile: its first row in memory, which of its rows belong to the group, and the matrix.
struct Tile {
  Tensor at, belongs, matrix;
};
Tile tile_of(const Tensor& i, const Values& tables, const RaggedSizes& s, int64_t tile) {
  const Tensor group = reduce_sum(astype(tables[0] <= i, DType::kI32), {0});
  const Tensor first = dynamic_index_in_dim(tables[1], group) + i * tile;
  // The last tile of all moves inside, over rows of other tiles.
  const Tensor at = minimum(first, s.rows() - tile);
  const Tensor rows = iota({tile}, 0) + at;
  return {at, (rows >= first) & (rows < dynamic_index_in_dim(tables[2], group)),
          dynamic_index_in_dim(tables[3], group)};
}
Tensor in_rows(const Tensor& belongs, int64_t width) {
  return broadcast_in_dim(belongs, {belongs.dim(0), width}, {0});
}

// Computes the next sum from a tile, the operands and the sum.
using TileBody = Tensor (*)(const OpNode& op, const Tile& tile, const Tensor& lhs,
                            const Tensor& rhs, const Tensor& sum);

Tensor multiply_tile(const OpNode& op, const Tile& tile, const Tensor& lhs, const Tensor& rhs,
                     const Tensor& sum) {
  const int64_t rows = tile.belongs.dim(0);
  const Tensor y =
      dot(dynamic_slice_in_dim(lhs, tile.at, rows), dynamic_index_in_dim(rhs, tile.matrix),
          op.attrs<RaggedAttributes>().options);
  const Tensor old = dynamic_slice_in_dim(sum, tile.at, rows);
  return dynamic_update_slice_in_dim(sum, select(in_rows(tile.belongs, y.dim(1)), y, old), tile.at);
}

// Both operands are masked, since rows of other groups may hold infinities.
Tensor contract_tile(const OpNode& op, const Tile& tile, const Tensor& lhs, const Tensor& rhs,
                     const Tensor& sum) {
  const auto masked = [&](const Tensor& x) {
    return select(in_rows(tile.belongs, x.dim(1)),
                  dynamic_slice_in_dim(x, tile.at, tile.belongs.dim(0)), 0);
  };
  DotOptions options = op.attrs<RaggedAttributes>().options;
  options.result_dtype = sum.dtype();
  const Tensor y =
      dot_general(masked(lhs), masked(rhs), {.a_contracting = {0}, .b_contracting = {0}}, options);
  const Tensor old = dynamic_index_in_dim(sum, tile.matrix);
  return dynamic_update_index_in_dim(sum, old + y, tile.matrix);
}

// Writes the loop. The operands and the sum have the shapes that the body works on.
HloValue loop_over_tiles(const OpNode& op, HloBuilder& b, const HloValues& x, const Type& sum,
                         TileBody body) {
  const RaggedSizes s = ragged_sizes(op);
  const int64_t tile = tile_rows(s);
  const auto tables =
      trace_part(op, {x[2].type}, [&](const Values& v) { return tile_tables(s, tile, v[0]); });
  const Type index{DType::kI32, {}};
  HloValues state = {b.splat(index, 0), b.splat(sum, 0), x[0], x[1]};
  for (HloValue& v : b.inline_region(*tables, {x[2]})) state.push_back(std::move(v));
  std::vector<Type> types;
  for (const HloValue& v : state) types.push_back(v.type);
  const auto goes_on =
      trace_part(op, types, [](const Values& v) { return Values{v[0] < v.back()}; });
  const auto step = trace_part(op, types, [&](const Values& v) {
    const Tile at = tile_of(v[0], Values(v.begin() + 4, v.end()), s, tile);
    Values next = v;
    next[0] = v[0] + 1;
    next[1] = body(op, at, v[2], v[3], v[1]);
    return next;
  });
  return b.op("stablehlo.while", state, types, {},
              {{types, [&](const HloValues& v) { return b.inline_region(*goes_on, v); }},
               {types, [&](const HloValues& v) { return b.inline_region(*step, v); }}})[1];
}

HloValue reshaped(HloBuilder& b, const HloValue& x, const Shape& shape) {
  return b.one("stablehlo.reshape", {x}, {x.type.dtype, shape});
}

HloValues lower_ragged_dot(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const RaggedSizes s = ragged_sizes(op);
  const Type& y = op.outputs[0];
  if (y.num_elements() == 0 || s.g == 0) return {b.splat(y, 0)};
  const HloValue rows = loop_over_tiles(
      op, b, {reshaped(b, x[0], {s.rows(), s.k}), reshaped(b, x[1], {s.o * s.g, s.k, s.n}), x[2]},
      {y.dtype, {s.rows(), s.n}}, multiply_tile);
  return {reshaped(b, rows, y.dims)};
}

HloValues lower_contracting(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const RaggedSizes s = ragged_sizes(op);
  const Type& y = op.outputs[0];
  if (y.num_elements() == 0 || s.rows() == 0) return {b.splat(y, 0)};
  const Type sum{wide_dtype(y.dtype), {s.o * s.g, s.k, s.n}};
  const HloValue products = loop_over_tiles(
      op, b, {reshaped(b, x[0], {s.rows(), s.k}), reshaped(b, x[1], {s.rows(), s.n}), x[2]}, sum,
      contract_tile);
  return {reshaped(b, b.one("stablehlo.convert", {products}, {y.dtype, sum.dims}), y.dims)};
}

// Each row is multiplied by one matrix. XLA counts the whole product of each tile.
double ragged_flops(const OpNode& op) {
  const RaggedSizes s = ragged_sizes(op);
  return 2.0 * static_cast<double>(s.rows()) * static_cast<double>(s.k) * static_cast<double>(s.n);
}

// Merges the batch into dim `to` of x, which has it in dim 0.
Tensor merged(const Tensor& x, int64_t to) { return flatten(move_axis(x, 0, to), to, to + 1); }
// Matrices that all examples share stay shared: the batch adds to the lists of rows.
std::vector<Batched> batch_ragged_dot(BatchX x) {
  const int64_t to = x.is_batched(1) ? 0 : 1;
  const Tensor matrices = to == 0 ? merged(x[1], 0) : x[1];
  const Tensor y =
      emit_ragged_dot(merged(with_batch_dim(x, 0), to), matrices, merged(with_batch_dim(x, 2), to),
                      x.attrs<RaggedAttributes>().options);
  const int64_t lists = x.op().outputs[0].dims[to];
  return all_batched({move_axis(unflatten(y, to, {x.axis().size, lists}), to, 0)});
}

std::vector<Batched> batch_contracting(BatchX x) {
  const Tensor y =
      emit_contracting(merged(with_batch_dim(x, 0), 0), merged(with_batch_dim(x, 1), 0),
                       merged(with_batch_dim(x, 2), 0), x.attrs<RaggedAttributes>().options);
  return all_batched({unflatten(y, 0, {x.axis().size, x.op().outputs[0].dims[0]})});
}

const OpRules ragged_dot_rules({.name = "ragged_dot",
                                .infer = infer_ragged_dot,
                                .batch = batch_ragged_dot,
                                .vjp = vjp_ragged_dot,
                                .eval = eval_ragged_dot,
                                .hlo = lower_ragged_dot,
                                .cost = ragged_flops,
                                .traits = {.is_product = true}});

const OpRules contracting_rules({.name = "ragged_dot_contracting",
                                 .infer = infer_contracting,
                                 .batch = batch_contracting,
                                 .vjp = vjp_contracting,
                                 .eval = eval_contracting,
                                 .hlo = lower_contracting,
                                 .cost = ragged_flops,
                                 .traits = {.is_product = true}});

Tensor emit_ragged_dot(const Tensor& lhs, const Tensor& matrices, const Tensor& sizes,
                       const DotOptions& options) {
  return emit(ragged_dot_rules, {lhs, matrices, sizes}, RaggedAttributes(options));
}
Tensor emit_contracting(const Tensor& lhs, const Tensor& rhs, const Tensor& sizes,
                        const DotOptions& options) {
  return emit(contracting_rules, {lhs, rhs, sizes}, RaggedAttributes(options));
}

// Names the operands as they are given. The rows take them with dims of size 1 more.
void check_operands(std::string_view op, const Values& operands, const Shape& expected_rhs) {
  const Tensor &lhs = operands[0], &rhs = operands[1], &sizes = operands[2];
  const auto fail = [&](const std::string& what) { shape_error(op, what, operands); };
  if (!is_float(lhs.dtype()) || rhs.dtype() != lhs.dtype()) {
    fail(fmt::format("expected floats of one dtype, got {} and {}", name_of(lhs.dtype()),
                     name_of(rhs.dtype())));
  }
  if (sizes.dtype() != DType::kI32)
    fail(fmt::format("expected i32 group sizes, got {}", name_of(sizes.dtype())));
  if (lhs.rank() == 3 && sizes.dim(0) != lhs.dim(0))
    fail(fmt::format("expected group sizes for {} batches, got {}", lhs.dim(0), sizes.dim(0)));
  if (rhs.shape() != expected_rhs) {
    fail(fmt::format("expected a second operand of {}, got {}", to_text(expected_rhs),
                     to_text(rhs.shape())));
  }
}

}  // namespace

Tensor ragged_dot(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                  const DotOptions& options) {
  const bool batched = lhs.rank() == 3, is_shared = rhs.rank() == 3;
  if ((!batched && lhs.rank() != 2) || (!is_shared && (!batched || rhs.rank() != 4)) ||
      group_sizes.rank() != lhs.rank() - 1) {
    shape_error("ragged_dot",
                "expected [m, k] x [g, k, n] with sizes [g], or a batch dim before them",
                {lhs, rhs, group_sizes});
  }
  Shape expected = {group_sizes.dim(-1), lhs.dim(-1), rhs.dim(-1)};
  if (!is_shared) expected.insert(expected.begin(), lhs.dim(0));
  check_operands("ragged_dot", {lhs, rhs, group_sizes}, expected);
  // The batch is a dim of the matrices or one of the lists of rows.
  const int64_t at = is_shared ? 0 : 1;
  const auto four = [&](const Tensor& x) {
    return expand_dims(batched ? x : expand_dims(x, 0), at);
  };
  const Tensor y =
      emit_ragged_dot(four(lhs), is_shared ? expand_dims(rhs, 0) : rhs, four(group_sizes), options);
  return batched ? squeeze(y, {at}) : squeeze(y, {0, 1});
}

Tensor ragged_dot_contracting(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                              const DotOptions& options) {
  const bool batched = lhs.rank() == 3;
  if ((!batched && lhs.rank() != 2) || rhs.rank() != lhs.rank() ||
      group_sizes.rank() != lhs.rank() - 1) {
    shape_error("ragged_dot_contracting",
                "expected [m, k] x [m, n] with sizes [g], or a batch dim before them",
                {lhs, rhs, group_sizes});
  }
  Shape expected = lhs.shape();
  expected.back() = rhs.dim(-1);
  check_operands("ragged_dot_contracting", {lhs, rhs, group_sizes}, expected);
  const auto four = [&](const Tensor& x) {
    return expand_dims(batched ? x : expand_dims(x, 0), 1);
  };
  const Tensor y = emit_contracting(four(lhs), four(rhs), four(group_sizes), options);
  return batched ? y : squeeze(y, {0});
}

}  // namespace axle
