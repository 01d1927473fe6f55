#include "layers/attention/rope.h"

#include <fmt/format.h>

#include "config/register.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/shape.h"

namespace axle {
namespace {

// Limits the size of the table of frequencies, which is a constant in the program.
constexpr int64_t kMaxHeadDim = 1 << 16;

// Returns the angle in radians by which each pair turns from one position to the next.
Tensor frequencies(double theta, int64_t head_dim) {
  std::vector<float> f;
  for (int64_t i = 0; i < head_dim; i += 2) {
    f.push_back(static_cast<float>(
        std::pow(theta, -static_cast<double>(i) / static_cast<double>(head_dim))));
  }
  return constant(HostTensor({head_dim / 2}, std::span<const float>(f)));
}

// The cosine, [.., T, 1, H/2, 1], and the sine with its sign for each element of a pair,
// [.., T, 1, H/2, 2].
struct Rotation {
  Tensor cosine, signed_sine;
};

Rotation rotation(const Tensor& positions, const Tensor& frequency, DType dtype) {
  const Tensor angle = expand_dims(astype(positions, DType::kF32), -1) * frequency;
  // Without the barrier the compiler recomputes sine and cosine for every head.
  const Values table = optimization_barrier({astype(cos(angle), dtype), astype(sin(angle), dtype)});
  const auto aligned = [](const Tensor& t) { return expand_dims(expand_dims(t, -1), -3); };
  const Tensor sign = constant(HostTensor({2}, {-1.0f, 1.0f}));
  return {aligned(table[0]), aligned(table[1]) * astype(sign, dtype)};
}

// (a, b) -> (a cos - b sin, b cos + a sin).
Tensor rotate(const Tensor& x, const Rotation& r) {
  const Tensor pairs = unflatten(x, -1, {-1, 2});
  return reshape(pairs * r.cosine + reverse(pairs, {-1}) * r.signed_sine, x.shape());
}

}  // namespace

RoPE::RoPE(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      head_dim_(dims.head_dim),
      theta_(cfg.theta),
      inner_(child("inner", cfg.inner, dims)) {
  if (head_dim_ % 2 != 0) fail("head_dim", fmt::format("must be even, got {}", head_dim_));
  if (head_dim_ > kMaxHeadDim)
    fail("head_dim", fmt::format("must be at most {}, got {}", kMaxHeadDim, head_dim_));
}

QKVTensors RoPE::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  const QKVTensors x = inner_(x_BTD, positions_BT);
  const Tensor positions = positions_BT ? *positions_BT : iota({x_BTD.dim(1)}, 0);
  const Rotation r = rotation(positions, frequencies(theta_, head_dim_), x_BTD.dtype());
  return {rotate(x.q_BTNH, r), rotate(x.k_BSKH, r), x.v_BSKH};
}

AXLE_REGISTER(RoPE)

}  // namespace axle
