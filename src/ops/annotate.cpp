#include "ops/annotate.h"

#include <fmt/format.h>

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
  if (std::ssize(spec.dims) > op.inputs[0].rank()) {
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
                          .traits = {.cheap = true}});

const OpRules stop_gradient_rules({.name = "stop_gradient",
                                   .infer = infer_operands,
                                   .batch = elementwise,
                                   .vjp = no_gradient,
                                   .eval = eval_identity,
                                   .hlo = hlo_identity,
                                   .cost = kView,
                                   .traits = {.cheap = true}});

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
                             .traits = {.is_kept_apart = true}});

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
                              .traits = {.cheap = true}});

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

namespace {

constexpr std::string_view kPlace = "{}";

size_t num_places(std::string_view format) {
  size_t count = 0;
  for (size_t at = 0; (at = format.find(kPlace, at)) != format.npos; at += kPlace.size()) ++count;
  return count;
}

struct TapGradientAttributes : Attributes {
  explicit TapGradientAttributes(std::string_view n) : name(n) {}
  std::string name;
  std::string text() const override { return fmt::format("name = \"{}\"", name); }
};

std::vector<Type> infer_tap(const OpNode& op) { return types_of(op.inputs); }

const OpRules tap_rules({.name = "tap",
                         .infer = infer_tap,
                         .batch = each_operand,
                         .vjp = no_gradient,
                         .eval = eval_identity,
                         .hlo = hlo_identity,
                         .cost = kView,
                         .traits = {.cheap = true, .is_kept_apart = true}});

const OpRules tap_gradient_rules({.name = "tap_gradient",
                                  .infer = infer_tap,
                                  .batch = each_operand,
                                  .vjp =
                                      [](X x, Y, Ct g) {
                                        tap(x.attrs<TapGradientAttributes>().name, g[0]);
                                        return Values{g[0]};
                                      },
                                  .eval = eval_identity,
                                  .hlo = hlo_identity,
                                  .cost = kView,
                                  .traits = {.cheap = true, .is_kept_apart = true}});

}  // namespace

std::string TapAttributes::text() const {
  return format.empty() ? fmt::format("name = \"{}\"", name)
                        : fmt::format("format = \"{}\"", format);
}

const TapAttributes* tap_of(const OpNode& op) {
  return op.rules == &tap_rules ? &op.attrs<TapAttributes>() : nullptr;
}

Tensor tap(std::string_view name, const Tensor& x) {
  emit(tap_rules, {x}, TapAttributes(name, ""));
  return x;
}

Tensor tap_gradient(std::string_view name, const Tensor& x) {
  return emit(tap_gradient_rules, {x}, TapGradientAttributes(name));
}

void debug_print(std::string_view format, const Values& values) {
  if (num_places(format) != values.size()) {
    shape_error("debug_print",
                fmt::format("expected a {{}} in the format for each of {} values, got \"{}\"",
                            values.size(), format),
                values);
  }
  if (values.empty()) shape_error("debug_print", "expected at least one value, got none", {});
  emit_all(tap_rules, values, make_attributes(TapAttributes("debug_print", format)));
}

std::string formatted(std::string_view format, const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    const size_t at = std::min(format.find(kPlace), format.size());
    out.append(format.substr(0, at)).append(text);
    format.remove_prefix(std::min(at + kPlace.size(), format.size()));
  }
  return out.append(format);
}

}  // namespace axle
