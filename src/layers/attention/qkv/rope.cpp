#include "layers/attention/qkv/rope.h"

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
    : WrappedQKV(cfg.inner, dims, scope), head_dim_(dims.head_dim), theta_(cfg.theta) {
  if (head_dim_ % 2 != 0) fail("head_dim", fmt::format("must be even, got {}", head_dim_));
  if (head_dim_ > kMaxHeadDim)
    fail("head_dim", fmt::format("must be at most {}, got {}", kMaxHeadDim, head_dim_));
}

QKVTensors RoPE::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  QKVTensors x = inner_(x_BTD, positions_BT);
  const Tensor frequency = frequencies(theta_, head_dim_);
  const auto rotation_at = [&](const Tensor& positions) {
    return rotation(positions, frequency, x_BTD.dtype());
  };
  const Rotation r = rotation_at(positions_BT ? *positions_BT : iota({x_BTD.dim(1)}, 0));
  x.q_BTNH = rotate(x.q_BTNH, r);
  if (has_source())
    x.k_BSKH = rotate(x.k_BSKH, rotation_at(iota({x.k_BSKH.dim(1)}, 0)));
  else if (x.k_BSKH)
    x.k_BSKH = rotate(x.k_BSKH, r);
  return x;
}

AXLE_REGISTER(RoPE)

}  // namespace axle
