#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

// The operands of the op, in their order.
enum Position : size_t { kOperand, kOutput, kInputOffsets, kSendSizes, kOutputOffsets, kRecvSizes };

// Returns what the devices of the group have for this one: entry i of device j becomes entry j of
// device i. The axes must be manual.
Tensor transposed(const Tensor& entries, const std::vector<MeshAxis>& axes) {
  return all_to_all(entries, names_of(axes), 0, 0);
}

// inside[j, t]: row t lies in the slice j of these offsets and sizes.
Tensor rows_inside(const Tensor& offsets, const Tensor& sizes, int64_t num_rows) {
  const Tensor row = expand_dims(iota({num_rows}, 0, offsets.dtype()), 0);
  const Tensor first = expand_dims(offsets, 1);
  return (row >= first) & (row < first + expand_dims(sizes, 1));
}

// Returns x where p[t] is true for row t, else y.
Tensor select_rows(const Tensor& p, const Tensor& x, const Tensor& y) {
  return select(broadcast_in_dim(p, x.shape(), {0}), x, y);
}

// Returns x[device[t], row[t]] for each t. The devices and rows are apart, since their product may
// exceed the range of the indices.
Tensor rows_at(const Tensor& x, const Tensor& device, const Tensor& row) {
  Shape sizes = x.shape();
  sizes[0] = sizes[1] = 1;
  GatherDims dims{.collapsed = {0, 1}, .index_map = {0, 1}, .index_vector_dim = 1};
  for (int64_t d = 1; d < x.rank() - 1; ++d) dims.offset.push_back(d);
  return gather(x, stack({device, row}, 1), dims, sizes);
}

// The op by an all_to_all. Each slice is padded to the rows of the operand or of the output, which
// are fewer: a slice lies within both. The axes are manual where this is traced.
Tensor masked_all_to_all(const Values& v, const std::vector<MeshAxis>& axes) {
  const Tensor &operand = v[kOperand], &output = v[kOutput];
  if (operand.dim(0) == 0 || output.dim(0) == 0) return output;
  const int64_t num_rows = std::min(operand.dim(0), output.dim(0));
  const DType dtype = v[kInputOffsets].dtype();
  const Tensor row = expand_dims(iota({num_rows}, 0, dtype), 0);
  const Tensor from =
      clamp(0, expand_dims(v[kInputOffsets], 1) + row, operand.dim(0) - 1);  // [devices, rows]
  const Tensor sent = take(operand, from);                                   // [devices, rows, ...]
  const Tensor received = all_to_all(sent, names_of(axes), 0, 0);
  const Tensor offsets = transposed(v[kOutputOffsets], axes);
  const Tensor inside = rows_inside(offsets, v[kRecvSizes], output.dim(0));
  const Tensor device = argmax(astype(inside, DType::kI32), 0);  // the first that sends the row
  const Tensor at = iota({output.dim(0)}, 0, dtype) - take(offsets, device);
  const Tensor taken = rows_at(received, astype(device, dtype), at);
  return select_rows(reduce_or(inside, {0}), taken, output);
}

Tensor exchanged_slices(const Values& operands, const std::vector<MeshAxis>& axes);

std::vector<Type> infer_ragged_all_to_all(const OpNode& op) {
  const Type &operand = op.inputs[kOperand].type(), &output = op.inputs[kOutput].type();
  const Type& offsets = op.inputs[kInputOffsets].type();
  const int64_t size = op.attrs<CollectiveAttributes>().group_size();
  if (operand.rank() < 1 || operand.rank() != output.rank() || operand.dtype != output.dtype ||
      !std::equal(operand.dims.begin() + 1, operand.dims.end(), output.dims.begin() + 1)) {
    shape_error(op, "expected an operand and an output that differ in dim 0 alone");
  }
  for (size_t i = kInputOffsets; i <= kRecvSizes; ++i) {
    if (op.inputs[i].type() == offsets && is_integer(offsets.dtype) && offsets.dims == Shape{size})
      continue;
    shape_error(
        op, fmt::format("expected offsets and sizes of one integer dtype with {} entries", size));
  }
  return {output};
}

// The batch becomes a trailing dim of the rows. Examples with slices of their own are exchanged one
// after the other.
std::vector<Batched> batch_ragged_all_to_all(BatchX x) {
  const auto& axes = x.attrs<CollectiveAttributes>().axes;
  bool has_own_slices = false;
  for (size_t i = kInputOffsets; i <= kRecvSizes; ++i) has_own_slices |= x.is_batched(i);
  if (!has_own_slices) {
    Values v;
    for (size_t i = 0; i < x.size(); ++i)
      v.push_back(i <= kOutput ? swap_axes(with_batch_dim(x, i), 0, 1) : x[i]);
    return {{swap_axes(exchanged_slices(v, axes), 0, 1), true}};
  }
  Values results;
  for (int64_t example = 0; example < x.axis().size; ++example) {
    Values v;
    for (size_t i = 0; i < x.size(); ++i)
      v.push_back(x.is_batched(i) ? index_in_dim(x[i], 0, example) : x[i]);
    results.push_back(exchanged_slices(v, axes));
  }
  return {{stack(results), true}};
}

// The cotangents go back along the same slices.
Values ragged_all_to_all_vjp(X x, Y, Ct g) {
  const auto& axes = x.attrs<CollectiveAttributes>().axes;
  const ManualAxes scope(axes, [](const MeshAxis&) { return Tensor(); });
  const Tensor offsets = transposed(x[kOutputOffsets], axes);
  const Tensor of_operand = exchanged_slices({g[0], zeros_like(x[kOperand]), offsets, x[kRecvSizes],
                                              transposed(x[kInputOffsets], axes), x[kSendSizes]},
                                             axes);
  const Tensor is_replaced = reduce_or(rows_inside(offsets, x[kRecvSizes], g[0].dim(0)), {0});
  return {of_operand, select_rows(is_replaced, zeros_like(g[0]), g[0]), {}, {}, {}, {}};
}

void eval_ragged_all_to_all(const EvalOptions&, const OpNode& op,
                            std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  const auto& axes = op.attrs<CollectiveAttributes>().axes;
  const SimulatedDevice& self = SimulatedDevice::current();
  const int64_t rank = self.rank(axes);
  const auto all = [&](Position i) { return self.all_of(op, axes, *x[i]); };
  const auto operands = all(kOperand), starts = all(kInputOffsets), sizes = all(kSendSizes),
             ends = all(kOutputOffsets);
  y[0] = *x[kOutput];
  const int64_t num_rows = y[0].shape()[0];
  if (num_rows == 0) return;
  const size_t row_bytes = y[0].bytes().size() / static_cast<size_t>(num_rows);
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto entry = [&](const HostTensor& t) { return static_cast<int64_t>(t.at(rank)); };
    const int64_t from = entry(starts[i]), count = entry(sizes[i]), to = entry(ends[i]);
    if (from < 0 || count < 0 || to < 0 || from + count > operands[i].shape()[0] ||
        to + count > num_rows) {
      shape_error(op, fmt::format("expected slices within the tensors, got {} rows from {} to {}",
                                  count, from, to));
    }
    std::copy_n(operands[i].bytes().data() + static_cast<size_t>(from) * row_bytes,
                static_cast<size_t>(count) * row_bytes,
                y[0].bytes().data() + static_cast<size_t>(to) * row_bytes);
  }
}

HloValues write_native(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto groups = device_groups(op.attrs<CollectiveAttributes>().axes, b.mesh());
  return {b.one("stablehlo.custom_call", x, op.outputs[0],
                fmt::format("api_version = 4 : i32, backend_config = {{channel_id = {} : i64, "
                            "replica_groups = dense<{}> : tensor<{}x{}xi64>}}, call_target_name = "
                            "\"ragged_all_to_all\"",
                            b.next_channel(), groups, groups.size(), groups[0].size()))};
}

HloValues write_masked(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& axes = op.attrs<CollectiveAttributes>().axes;
  Region region;
  {
    const TraceScope trace(region);
    const ManualAxes manual(axes, [](const MeshAxis&) { return Tensor(); });
    Values parameters;
    for (const Tensor& t : op.inputs) parameters.push_back(region.add_parameter(t.type()));
    region.set_results({masked_all_to_all(parameters, axes)});
  }
  return b.inline_region(region, x);
}

HloValues lower_ragged_all_to_all(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const LoweringTarget& target = b.target();
  if (target.platform.empty()) return write_masked(op, b, x);
  const auto reason = target.lacks ? target.lacks(std::string(op.rules->name()))
                                   : std::optional<std::string>("nothing is known of the compiler");
  b.record(LoweringChoice{.op = std::string(op.rules->name()),
                          .form = reason ? "masked all_to_all" : "the compiler's own op",
                          .reason = reason.value_or("")});
  return reason ? write_masked(op, b, x) : write_native(op, b, x);
}

const OpRules ragged_all_to_all_rules({.name = "ragged_all_to_all",
                                       .infer = infer_ragged_all_to_all,
                                       .batch = batch_ragged_all_to_all,
                                       .vjp = ragged_all_to_all_vjp,
                                       .eval = eval_ragged_all_to_all,
                                       .hlo = lower_ragged_all_to_all,
                                       .cost = kNoFlops});

Tensor exchanged_slices(const Values& operands, const std::vector<MeshAxis>& axes) {
  return emit(ragged_all_to_all_rules, operands, CollectiveAttributes(axes));
}

}  // namespace

Tensor ragged_all_to_all(const Tensor& operand, const Tensor& output, const RaggedSlices& slices,
                         const DimAxes& names) {
  const Values operands = {
      operand,          output, slices.input_offsets, slices.send_sizes, slices.output_offsets,
      slices.recv_sizes};
  const auto axes = ManualAxes::named("ragged_all_to_all", names, operands);
  if (!axes.empty()) return exchanged_slices(operands, axes);
  for (size_t i = kInputOffsets; i <= kRecvSizes; ++i) {
    if (operands[i].shape() != Shape{1} || !is_integer(operands[i].dtype()))
      shape_error("ragged_all_to_all", "expected one offset and one size", operands);
  }
  return masked_all_to_all(operands, {});
}

}  // namespace axle
