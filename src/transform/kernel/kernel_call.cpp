#include "transform/kernel/kernel_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/hlo_builder.h"
#include "ops/kernels/kernel.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/control_flow/maps.h"
#include "transform/linearize.h"
#include "transform/shard_map/shard_map_op.h"

namespace axle {
namespace {

// The op's region is the fallback.
struct KernelCallAttributes : Attributes {
  KernelCallAttributes(const Kernel& k, KernelAttributes a, KernelOptions o)
      : kernel(k), attributes(std::move(a)), options(std::move(o)) {}
  const Kernel& kernel;
  KernelAttributes attributes;
  KernelOptions options;
  std::string text() const override {
    std::vector<std::string> parts = {std::string(kernel.name)};
    if (!attributes.values.empty()) parts.push_back(mlir_entries(attributes));
    for (const PartitionSpec& spec : options.specs) parts.push_back(to_text(spec));
    return fmt::format("{}", fmt::join(parts, ", "));
  }
};

Linearized linearize_kernel_call(const OpNode& op, const Values& inputs,
                                 const std::vector<bool>& active) {
  const auto& a = op.attrs<KernelCallAttributes>();
  Values outputs = emit_all(*op.rules, inputs, op.attributes, op.regions);
  const auto pullback = [&op, &a, inputs, outputs, active](Values cotangents) {
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (is_differentiable(op.outputs[i].dtype))
        cotangents[i] = instantiate(cotangents[i], op.outputs[i]);
    }
    if (a.kernel.vjp) return a.kernel.vjp(X(op, inputs), Y(op, outputs), Ct(op, cotangents));
    return linearize(op.region(), inputs, active).pullback(cotangents);
  };
  return {std::move(outputs), pullback};
}

std::vector<Batched> batch_kernel_call(BatchX x) {
  const auto& a = x.attrs<KernelCallAttributes>();
  if (a.kernel.batch) return a.kernel.batch(x);
  Values batched;
  for (const Batched& v : x.values()) {
    if (v.is_batched) batched.push_back(v.value);
  }
  const auto of_example = [&](const Values& examples) {
    Values operands;
    size_t next = 0;
    for (const Batched& v : x.values())
      operands.push_back(v.is_batched ? examples[next++] : v.value);
    return kernel_call(a.kernel, operands, a.attributes, a.options);
  };
  return all_batched(sequential_map(of_example, batched));
}

// Writes the implementation, in a manual region if the partitioner divides the work here. Returns
// the reason if there is none for this call, "" if it is written.
std::string write_implementation(const OpNode& op, HloBuilder& b, const HloValues& x,
                                 LoweringChoice& choice, HloValues& y) {
  const auto& a = op.attrs<KernelCallAttributes>();
  const Kernel& kernel = a.kernel;
  KernelQuery query{types_of(op.inputs), op.outputs, a.attributes};
  const std::vector<MeshAxis> axes = b.automatic_axes();
  const Mesh mesh{axes};
  KernelPartition partition;
  if (!axes.empty()) {
    if (kernel.dims.empty() || a.options.specs.empty()) {
      const KernelSelection of_whole = select_kernel(kernel.name, query, b.target());
      if (!of_whole.implementation) return of_whole.reason;
      return kernel.dims.empty()
                 ? "the work is divided over devices here, but no dim of the kernel may be"
                 : "the work is divided over devices here, but KernelOptions::specs is not given";
    }
    partition = partition_kernel(kernel.dims, query.operands, query.results, a.options.specs, mesh);
    for (size_t i = 0; i < query.operands.size(); ++i)
      query.operands[i] = part_type(query.operands[i], partition.in_specs[i], mesh);
    for (size_t i = 0; i < query.results.size(); ++i)
      query.results[i] = part_type(query.results[i], partition.out_specs[i], mesh);
  }
  const KernelSelection selection = select_kernel(kernel.name, query, b.target());
  if (!selection.implementation) return selection.reason;
  choice.form = selection.implementation->text();
  const auto write = [&](const HloValues& parts) {
    return write_kernel(*selection.implementation, query, b, parts);
  };
  if (axes.empty()) {
    y = write(x);
    return "";
  }
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(axis.name);
  y = b.manual_computation(x, partition.in_specs, partition.out_specs, names, query.operands,
                           op.outputs, write);
  return "";
}

HloValues lower_kernel_call(const OpNode& op, HloBuilder& b, const HloValues& x) {
  if (b.target().platform.empty()) return inline_body(op, b, x);
  LoweringChoice choice{.op =
                            fmt::format("kernel {}", op.attrs<KernelCallAttributes>().kernel.name)};
  HloValues y;
  choice.reason = write_implementation(op, b, x, choice, y);
  if (!choice.reason.empty()) {
    choice.form = "fallback";
    y = inline_body(op, b, x);
  }
  b.record(std::move(choice));
  return y;
}

// There is no emit rule: an implementation takes all operands and writes all results, also those
// that nobody reads. With more results, the fallback would no longer be the kernel's.
BodyFlow flow_of_kernel_call(const OpNode& op) {
  BodyFlow out{{flow_of_body(op).regions[0]}};
  out.regions[0].runs.is_open = false;
  return out;
}

// Without fusion a kernel reads its operands and writes its results once.
const OpRules kernel_call_rules({.name = "kernel_call",
                                 .infer = infer_body,
                                 .batch = batch_kernel_call,
                                 .linearize = linearize_kernel_call,
                                 .body = {flow_of_kernel_call},
                                 .eval = eval_body,
                                 .hlo = lower_kernel_call,
                                 .cost = body_flops});

}  // namespace

Values kernel_call(const Kernel& kernel, const Values& operands, KernelAttributes attributes,
                   KernelOptions options) {
  const auto fallback =
      trace([&](const Values& x) { return kernel.fallback(x, attributes); }, types_of(operands));
  return emit_all(kernel_call_rules, operands,
                  std::make_shared<const KernelCallAttributes>(kernel, std::move(attributes),
                                                               std::move(options)),
                  {fallback});
}

std::vector<Batched> batch_in_front(BatchX x) {
  const auto& a = x.attrs<KernelCallAttributes>();
  KernelOptions options = a.options;
  for (PartitionSpec& spec : options.specs) spec.dims.insert(spec.dims.begin(), x.axis().mesh_axes);
  return all_batched(kernel_call(a.kernel, with_batch_dims(x), a.attributes, std::move(options)));
}

const KernelOptions& kernel_options(const OpNode& op) {
  return op.attrs<KernelCallAttributes>().options;
}

}  // namespace axle
