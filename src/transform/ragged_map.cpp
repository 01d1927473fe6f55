#include "transform/ragged_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/lists.h"
#include "ir/value_map.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

/// What dim 0 of a value counts; kNothing: the value is the same for all rows.
enum class Along { kNothing, kRows, kGroups };
struct Value {
  Tensor value = {};
  Along along = Along::kNothing;
};
using ValueList = std::vector<Value>;

bool has(const ValueList& values, Along along) {
  return std::ranges::any_of(values, [&](const Value& v) { return v.along == along; });
}

int64_t product_of(const Tensor& t, const std::vector<int64_t>& dims) {
  int64_t out = 1;
  for (const int64_t d : dims) out *= t.dim(d);
  return out;
}
void append(std::vector<int64_t>& to, const std::vector<int64_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}
Shape sizes_of(const Tensor& t, const std::vector<int64_t>& dims) {
  Shape out;
  for (const int64_t d : dims) out.push_back(t.dim(d));
  return out;
}

/// An operand of a product: its dims by their part in it, with dim 0 for its rows or groups.
struct ProductOperand {
  ProductOperand(Tensor t, const std::vector<int64_t>& batch_dims,
                 const std::vector<int64_t>& contracting_dims)
      : value(std::move(t)), batch(shifted(batch_dims)), contracting(shifted(contracting_dims)) {
    for (int64_t d = 1; d < value.rank(); ++d) {
      if (std::ranges::count(batch, d) + std::ranges::count(contracting, d) == 0) free.push_back(d);
    }
  }
  Tensor value;
  std::vector<int64_t> batch, contracting, free;
};

class RaggedMap {
 public:
  RaggedMap(int64_t num_rows, const Tensor& group_sizes)
      : rows_{.size = num_rows}, groups_{.size = group_sizes.dim(0)}, sizes_(group_sizes) {}

  ValueList run(const Region& region, const ValueList& arguments) {
    ValueMap<Value> values;
    for (size_t i = 0; i < arguments.size(); ++i) values[region.parameters()[i]] = arguments[i];
    for (const OpNode* op : region.ops()) {
      ValueList operands;
      for (const Tensor& t : op->inputs) operands.push_back(values.at(t));
      const OriginScope origin(*op);
      ValueList results = emit_one(*op, std::move(operands));
      for (uint32_t i = 0; i < results.size(); ++i) values[Tensor(op, i)] = std::move(results[i]);
    }
    ValueList out;
    for (const Tensor& t : region.results()) out.push_back(values.at(t));
    return out;
  }

  /// Returns a value with the dim of the rows in front.
  Tensor by_row(const Value& v) {
    if (v.along == Along::kRows) return v.value;
    if (v.along == Along::kGroups) return take(v.value, group_of_row());
    return broadcast_in_dim(v.value, prepended(rows_.size, v.value.shape()),
                            axis_range(1, v.value.rank() + 1));
  }

 private:
  ValueList emit_one(const OpNode& op, ValueList operands) {
    const bool of_rows = has(operands, Along::kRows), of_groups = has(operands, Along::kGroups);
    if (!of_rows && !of_groups) {
      Values values;
      for (const Value& v : operands) values.push_back(v.value);
      ValueList out;
      for (const Tensor& t : emit_all(*op.rules, values, op.attributes, op.regions))
        out.push_back({t});
      return out;
    }
    if (of_rows && of_groups) {
      if (const auto parts = dot_parts_of(op))
        return {{product(op, *parts, operands), Along::kRows}};
      const std::string_view name = op.rules->name();
      if (name == "call" || name == "remat") return run(op.region(), operands);
      if (!op.regions.empty()) {
        shape_error(op, fmt::format("expected an op without a body on rows and values of their "
                                    "group, got {}",
                                    name));
      }
      for (Value& v : operands) {
        if (v.along == Along::kGroups) v = {by_row(v), Along::kRows};
      }
    }
    return batched(op, operands, of_rows ? Along::kRows : Along::kGroups);
  }

  ValueList batched(const OpNode& op, const ValueList& operands, Along along) {
    AXLE_CHECK(op.rules->row().batch,
               "op without a batching rule: " + std::string(op.rules->name()));
    std::vector<Batched> values;
    for (const Value& v : operands) values.push_back({v.value, v.along == along});
    ValueList out;
    const BatchAxis& axis = along == Along::kRows ? rows_ : groups_;
    for (const Batched& y : op.rules->row().batch(BatchX(op, values, axis)))
      out.push_back({y.value, y.is_batched ? along : Along::kNothing});
    return out;
  }

  // One operand runs along the rows, the other along the groups. The row operand becomes the list
  // [batch, row and free dims, contracting], the other one the matrices [batch, group, contracting,
  // free].
  Tensor product(const OpNode& op, const DotParts& parts, const ValueList& operands) {
    const bool rows_first = operands[0].along == Along::kRows;
    const ProductOperand a(operands[0].value, parts.dims.a_batch, parts.dims.a_contracting),
        b(operands[1].value, parts.dims.b_batch, parts.dims.b_contracting);
    const ProductOperand &row = rows_first ? a : b, &group = rows_first ? b : a;
    const int64_t num_batch = product_of(row.value, row.batch),
                  rows_of_each = product_of(row.value, row.free),
                  depth = product_of(row.value, row.contracting);
    const auto arranged = [](const ProductOperand& x, const std::vector<int64_t>& middle,
                             const std::vector<int64_t>& last) {
      std::vector<int64_t> order = x.batch;
      order.push_back(0);
      append(order, middle);
      append(order, last);
      return transpose(x.value, order);
    };
    const Tensor lhs = reshape(arranged(row, row.free, row.contracting),
                               {num_batch, rows_.size * rows_of_each, depth});
    const Tensor rhs =
        reshape(arranged(group, group.contracting, group.free),
                {num_batch, groups_.size, depth, product_of(group.value, group.free)});
    const Tensor sizes = broadcast_in_dim(sizes_ * rows_of_each, {num_batch, groups_.size}, {1});
    DotOptions options = parts.options;
    options.result_dtype = op.outputs[0].dtype;
    const Tensor y = ragged_dot(lhs, rhs, sizes, options);
    Shape shape = sizes_of(row.value, row.batch);
    shape.push_back(rows_.size);
    append(shape, sizes_of(row.value, row.free));
    append(shape, sizes_of(group.value, group.free));
    return ordered(reshape(y, shape), row, rows_first);
  }

  // Takes [batch, row, free dims of the row operand, free dims of the other one] and returns the
  // order of dot_general, with the row in front.
  static Tensor ordered(const Tensor& y, const ProductOperand& row, bool rows_first) {
    const auto num_batch = std::ssize(row.batch), num_free = std::ssize(row.free);
    const int64_t others = num_batch + 1 + num_free;
    std::vector<int64_t> order{num_batch};
    append(order, axis_range(0, num_batch));
    const std::vector<int64_t> own = axis_range(num_batch + 1, others),
                               other = axis_range(others, y.rank());
    append(order, rows_first ? own : other);
    append(order, rows_first ? other : own);
    return transpose(y, order);
  }

  const Tensor& group_of_row() {
    if (!static_cast<bool>(group_of_row_)) {
      group_of_row_ = searchsorted(cumsum(sizes_, 0), iota({rows_.size}, 0), SearchSide::kRight);
    }
    return group_of_row_;
  }

  BatchAxis rows_, groups_;
  Tensor sizes_;
  Tensor group_of_row_;
};

Type without_dim_0(const Tensor& t, std::string_view of, int64_t expected) {
  if (t.rank() == 0 || t.dim(0) != expected) {
    shape_error("ragged_map", fmt::format("expected {} with a dim 0 of {}", of, expected), {t});
  }
  Type type = t.type();
  type.dims.erase(type.dims.begin());
  return type;
}

}  // namespace

Values ragged_map(const TensorFunction& fn, const Values& rows, const Values& groups,
                  const Tensor& group_sizes, const std::vector<RowResult>& results) {
  if (rows.empty() || rows[0].rank() == 0)
    shape_error("ragged_map", "expected rows, got none", rows);
  if (group_sizes.rank() != 1 || group_sizes.dtype() != DType::kI32)
    shape_error("ragged_map", "expected group sizes i32[groups]", {group_sizes});
  const int64_t num_rows = rows[0].dim(0);
  std::vector<Type> types;
  for (const Tensor& t : rows) types.push_back(without_dim_0(t, "rows", num_rows));
  for (const Tensor& t : groups)
    types.push_back(without_dim_0(t, "values of groups", group_sizes.dim(0)));
  const ClosedRegion closed = trace_closed(fn, types);
  ValueList arguments;
  for (const Tensor& t : closed.captures) arguments.push_back({t});
  for (const Tensor& t : rows) arguments.push_back({t, Along::kRows});
  for (const Tensor& t : groups) arguments.push_back({t, Along::kGroups});
  RaggedMap map(num_rows, group_sizes);
  Values out;
  for (const Value& v : map.run(*closed.region, arguments)) {
    const RowResult wanted = results.empty() ? RowResult::kEach : results.at(out.size());
    if (wanted == RowResult::kSame && v.along != Along::kNothing) {
      shape_error(
          "ragged_map",
          fmt::format("expected result {} to be the same for all rows, got one that differs",
                      out.size()),
          {v.value});
    }
    if (wanted == RowResult::kEach)
      out.push_back(map.by_row(v));
    else
      out.push_back(v.along == Along::kNothing ? v.value : reduce_max(v.value, {0}));
  }
  return out;
}

}  // namespace axle
