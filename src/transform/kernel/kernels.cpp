#include "transform/kernel/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ir/hlo_builder.h"
#include "ops/elementwise/elementwise.h"
#include "ops/kernels/kernel.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/control_flow/control_flow.h"
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
  out.regions[0].trips.is_open = false;
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

namespace {

constexpr std::string_view kForward = "gated_silu", kBackward = "gated_silu_vjp";

// (g, gate, x) -> the cotangents of gate and x.
const Kernel backward_kernel{.name = kBackward,
                             .fallback =
                                 [](const Values& v, const KernelAttributes&) {
                                   const Tensor &g = v[0], &gate = v[1], &x = v[2];
                                   const Tensor s = sigmoid(gate);
                                   return Values{g * x * (s + gate * s * (1 - s)), g * gate * s};
                                 },
                             .batch = batch_in_front,
                             .dims = "*, *, * -> *, *"};

const Kernel forward_kernel{
    .name = kForward,
    .fallback = [](const Values& v, const KernelAttributes&) { return Values{silu(v[0]) * v[1]}; },
    .vjp =
        [](X x, Y, Ct g) {
          KernelOptions options = kernel_options(x.op());
          if (!options.specs.empty()) options.specs.insert(options.specs.begin(), options.specs[0]);
          return kernel_call(backward_kernel, {g[0], x[0], x[1]}, {}, options);
        },
    .batch = batch_in_front,
    .dims = "*, * -> *"};

std::string refuses_other_dtypes(const KernelQuery& query) {
  for (const Type& type : query.operands) {
    if (type.dtype != DType::kF32 && type.dtype != DType::kBF16)
      return "expected f32 or bf16, got " + to_text(type);
  }
  return "";
}

// Fewer elements than this do not pay for handing them to another thread.
constexpr int64_t kGrain = 1 << 14;

// Calls element(i) for each element, on several threads.
template <class F>
void for_each_element(const HostKernelCall& call, F element) {
  call.parallel(call.operands[0].size(), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) element(static_cast<size_t>(i));
  });
}

template <class F>
void with_dtype(const HostKernelCall& call, F f) {
  if (call.operands[0].dtype == DType::kBF16)
    f(std::type_identity<BF16>());
  else
    f(std::type_identity<float>());
}

float logistic_of(float x) { return 1 / (1 + std::exp(-x)); }

void forward_on_host(const HostKernelCall& call) {
  with_dtype(call, [&]<class T>(std::type_identity<T>) {
    const auto gate = call.operands[0].values<T>(), x = call.operands[1].values<T>(),
               y = call.results[0].values<T>();
    for_each_element(call, [=](size_t i) {
      const auto g = static_cast<float>(gate[i]);
      y[i] = static_cast<T>(g * logistic_of(g) * static_cast<float>(x[i]));
    });
  });
}

void backward_on_host(const HostKernelCall& call) {
  with_dtype(call, [&]<class T>(std::type_identity<T>) {
    const auto g = call.operands[0].values<T>(), gate = call.operands[1].values<T>(),
               x = call.operands[2].values<T>(), of_gate = call.results[0].values<T>(),
               of_x = call.results[1].values<T>();
    for_each_element(call, [=](size_t i) {
      const auto c = static_cast<float>(g[i]), a = static_cast<float>(gate[i]);
      const float s = logistic_of(a);
      of_gate[i] = static_cast<T>(c * static_cast<float>(x[i]) * (s + a * s * (1 - s)));
      of_x[i] = static_cast<T>(c * a * s);
    });
  });
}

const KernelImplementation host_forward({.kernel = kForward,
                                         .platform = "cpu",
                                         .refuses = refuses_other_dtypes,
                                         .host = forward_on_host});
const KernelImplementation host_backward({.kernel = kBackward,
                                          .platform = "cpu",
                                          .refuses = refuses_other_dtypes,
                                          .host = backward_on_host});

}  // namespace

Tensor gated_silu(const Tensor& gate, const Tensor& x, const KernelOptions& options) {
  if (gate.type() != x.type())
    shape_error("gated_silu", "expected a gate and an x of one type", {gate, x});
  return kernel_call(forward_kernel, {gate, x}, {}, options)[0];
}

}  // namespace axle
