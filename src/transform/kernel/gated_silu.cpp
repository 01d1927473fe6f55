#include "transform/kernel/gated_silu.h"

#include <cmath>

#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/kernels/kernel.h"
#include "ops/rules.h"

namespace axle {
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
