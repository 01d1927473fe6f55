#include "ops/annotate.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct NameAttributes : Attributes {
  explicit NameAttributes(std::string_view t) : tag(t) {}
  std::string tag;
  std::string text() const override { return fmt::format("tag = \"{}\"", tag); }
};

struct PlaceAttributes : Attributes {
  explicit PlaceAttributes(Memory m) : memory(m) {}
  Memory memory;
  std::string text() const override { return "memory = " + std::string(kind()); }
  // Returns the name of the memory in PJRT plugins.
  std::string_view kind() const { return memory == Memory::kHost ? "pinned_host" : "device"; }
};

struct ShardingAttributes : Attributes {
  explicit ShardingAttributes(PartitionSpec s) : spec(std::move(s)) {}
  PartitionSpec spec;
  std::string text() const override { return "spec = " + to_text(spec); }
};

std::vector<Type> infer_operands(const OpNode& op) { return types_of(op.inputs); }

std::vector<Type> infer_sharding(const OpNode& op) {
  const auto& spec = op.attrs<ShardingAttributes>().spec;
  if (static_cast<int64_t>(spec.dims.size()) > op.inputs[0].rank()) {
    shape_error(op, fmt::format("expected a spec of at most {} dims, got {}", op.inputs[0].rank(),
                                to_text(spec)));
  }
  return infer_operands(op);
}

const OpRules name_rules({.name = "name",
                          .infer = infer_operands,
                          .batch = elementwise,
                          .vjp = [](X, Y, Ct g) { return Values{g[0]}; },
                          .eval = eval_identity,
                          .hlo = hlo_identity,
                          .cost = kView,
                          .cheap = true});

const OpRules stop_gradient_rules({.name = "stop_gradient",
                                   .infer = infer_operands,
                                   .batch = elementwise,
                                   .vjp = no_gradient,
                                   .eval = eval_identity,
                                   .hlo = hlo_identity,
                                   .cost = kView,
                                   .cheap = true});

// Not cheap, since recomputation must not drop a barrier.
const OpRules barrier_rules({.name = "optimization_barrier",
                             .infer = infer_operands,
                             .batch = each_operand,
                             .vjp =
                                 [](X x, Y, Ct g) {
                                   Values out;
                                   for (size_t i = 0; i < x.size(); ++i) out.push_back(g[i]);
                                   return out;
                                 },
                             .eval = eval_identity,
                             .hlo =
                                 [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                   return b.op("stablehlo.optimization_barrier", x, op.outputs);
                                 },
                             .cost = kView,
                             .is_kept_apart = true});

// The batch dim is sharded over the mesh axes of the vmap, if it names any.
std::vector<Batched> batch_sharding(BatchX x) {
  PartitionSpec spec = x.attrs<ShardingAttributes>().spec;
  const DimAxes& axes = x.axis().mesh_axes;
  spec.dims.insert(spec.dims.begin(), axes.empty() ? kUnconstrained : axes);
  if (const auto axis = axis_named_twice(spec)) {
    shape_error(x.op(), fmt::format("expected a mesh axis for the batch that the constraint does "
                                    "not name, got '{}'",
                                    *axis));
  }
  return emit_batched(x, ShardingAttributes(std::move(spec)));
}

const OpRules sharding_rules({.name = "sharding_constraint",
                              .infer = infer_sharding,
                              .batch = batch_sharding,
                              .vjp =
                                  [](X x, Y, Ct g) {
                                    return Values{sharding_constraint(
                                        g[0], x.attrs<ShardingAttributes>().spec)};
                                  },
                              .eval = eval_identity,
                              .hlo =
                                  [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                    PartitionSpec spec = op.attrs<ShardingAttributes>().spec;
                                    spec.dims.resize(op.outputs[0].dims.size());
                                    return HloValues{b.sharding_constraint(x[0], spec)};
                                  },
                              .cost = kView,
                              .cheap = true});

// Not cheap: the backward pass must read a value that was moved to the host from there. Costs no
// bytes: the value crosses the link to the host, and costs count the device's own memory only.
const OpRules place_rules({.name = "place",
                           .infer = infer_operands,
                           .batch = elementwise,
                           .vjp = [](X, Y, Ct g) { return Values{g[0]}; },
                           .eval = eval_identity,
                           .hlo =
                               [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                 return HloValues{
                                     b.place(x[0], op.attrs<PlaceAttributes>().kind())};
                               },
                           .cost = kView});

}  // namespace

Tensor name(const Tensor& x, std::string_view tag) {
  return emit(name_rules, {x}, NameAttributes(tag));
}

std::string_view tag_of(const OpNode& op) {
  return op.rules == &name_rules ? std::string_view(op.attrs<NameAttributes>().tag)
                                 : std::string_view();
}

Tensor stop_gradient(const Tensor& x) { return emit(stop_gradient_rules, {x}); }
Values optimization_barrier(const Values& values) {
  return values.empty() ? values : emit_all(barrier_rules, values);
}
Tensor place(const Tensor& x, Memory memory) {
  return emit(place_rules, {x}, PlaceAttributes(memory));
}
std::optional<Memory> memory_of(const OpNode& op) {
  if (op.rules != &place_rules) return std::nullopt;
  return op.attrs<PlaceAttributes>().memory;
}
Tensor sharding_constraint(const Tensor& x, const PartitionSpec& spec) {
  return emit(sharding_rules, {x}, ShardingAttributes(spec));
}
const PartitionSpec* constraint_of(const OpNode& op) {
  return op.rules == &sharding_rules ? &op.attrs<ShardingAttributes>().spec : nullptr;
}

}  // namespace axle
