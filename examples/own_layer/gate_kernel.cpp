#include "gate_kernel.h"

#include <cmath>

using namespace axle;

namespace {

const Kernel gate{
    .name = "channel_gate",
    .fallback = [](const Values& v,
                   const KernelAttributes&) { return Values{v[0] * sigmoid(v[0] * v[1])}; },
    .dims = "*., . -> *."};

std::string refuses_other_dtypes(const KernelQuery& query) {
  for (const Type& type : query.operands) {
    if (type.dtype != DType::kF32) return "expected f32, got " + to_text(type);
  }
  return "";
}

void run_gate(const HostKernelCall& call) {
  const auto x = call.operands[0].values<float>(), w = call.operands[1].values<float>(),
             y = call.results[0].values<float>();
  const auto width = std::ssize(w);
  if (width == 0) return;
  call.parallel(std::ssize(x) / width, 64, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        const float value = x[row * width + i];
        y[row * width + i] = value / (1 + std::exp(-value * w[i]));
      }
    }
  });
}

const KernelImplementation gate_on_host({.kernel = "channel_gate",
                                         .platform = "cpu",
                                         .refuses = refuses_other_dtypes,
                                         .host = run_gate});

}  // namespace

Tensor gated_by_channel(const Tensor& x, const Tensor& w) { return kernel_call(gate, {x, w})[0]; }
