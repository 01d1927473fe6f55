#include "ops/batching.h"

#include <algorithm>

#include "ops/dims.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"

namespace axle {
namespace {

int64_t own_rank(BatchX x, size_t i) { return x[i].rank() - (x.is_batched(i) ? 1 : 0); }

}  // namespace

Tensor with_batch_dim(BatchX x, size_t i) {
  if (x.is_batched(i)) return x[i];
  return broadcast_in_dim(x[i], prepended(x.axis().size, x[i].shape()),
                          axis_range(1, x[i].rank() + 1));
}

Values with_batch_dims(BatchX x) {
  Values out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(with_batch_dim(x, i));
  return out;
}

std::vector<Batched> all_batched(const Values& results) {
  std::vector<Batched> out;
  for (const Tensor& t : results) out.push_back({t, true});
  return out;
}

std::vector<Batched> emit_batched(BatchX x, std::shared_ptr<const Attributes> attributes) {
  return all_batched(emit_all(*x.op().rules, with_batch_dims(x), std::move(attributes)));
}

std::vector<int64_t> shifted(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) ++axis;
  return axes;
}

std::vector<int64_t> prepended(int64_t first, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

Tensor select_examples(const Tensor& is_chosen, const Tensor& a, const Tensor& b) {
  return select(broadcast_in_dim(is_chosen, a.shape(), {0}), a, b);
}

std::vector<Batched> elementwise(BatchX x) {
  int64_t rank = 0;
  for (size_t i = 0; i < x.size(); ++i) rank = std::max(rank, own_rank(x, i));
  const auto is_scalar = [&](size_t i) { return own_rank(x, i) < rank; };
  Shape shape;  // of the operands that are no scalars, with the batch dim
  for (size_t i = 0; i < x.size(); ++i) {
    if (is_scalar(i)) continue;
    shape = x.is_batched(i) ? x[i].shape() : prepended(x.axis().size, x[i].shape());
  }
  Values operands;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!is_scalar(i))
      operands.push_back(with_batch_dim(x, i));
    else
      operands.push_back(x.is_batched(i) ? broadcast_in_dim(x[i], shape, {0}) : x[i]);
  }
  return all_batched(emit_all(*x.op().rules, std::move(operands), x.op().attributes));
}

std::vector<Batched> trailing_dims(BatchX x) { return emit_batched(x, x.op().attributes); }

std::vector<Batched> each_operand(BatchX x) {
  Values operands;
  for (const Batched& v : x.values()) operands.push_back(v.value);
  const Values results = emit_all(*x.op().rules, std::move(operands), x.op().attributes);
  std::vector<Batched> out;
  for (size_t i = 0; i < results.size(); ++i) out.push_back({results[i], x.is_batched(i)});
  return out;
}

std::vector<Batched> along_axis(BatchX x) {
  return emit_batched(x, AxisAttributes(x.attrs<AxisAttributes>().axis + 1));
}

}  // namespace axle
