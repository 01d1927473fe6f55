// Products of 8-bit floats in every projection, with current scaling.
//
// Letters in tensor names:
//   B batch   T positions   D model dim   N query heads   K key/value heads   H head dim
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433.
#include "world/experiment.h"

using namespace axle;

namespace {

// Returns x rounded to e4m3 with one scale for the whole tensor. The gradient passes as if nothing
// had been rounded.
Tensor rounded(const Tensor& x) {
  constexpr double kLargest = 448;
  std::vector<int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  const Tensor scale = maximum(reduce_max(abs(stop_gradient(x)), axes), 1e-12) / kLargest;
  const Tensor small = astype(stop_gradient(x) / scale, DType::kF8E4M3FN);
  return x + (astype(small, x.dtype()) * scale - stop_gradient(x));
}

}  // namespace

/// Linear whose product is one of 8-bit floats.
class Fp8Linear final : public Projection {
 public:
  struct Config {
    /// True: a bias is added to the product.
    bool bias = true;
    AXLE_CONFIG(Fp8Linear, bias)
  };
  Fp8Linear(const Config& cfg, const Dims& dims, const Scope& scope)
      : Projection(scope), weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim}})) {
    if (cfg.bias) bias_ = param("bias", {.shape = {dims.output_dim}, .init = Zeros{}});
  }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = dot(rounded(x), rounded(weight_()));
    return bias_ ? y + (*bias_)() : y;
  }

 private:
  Param weight_;
  std::optional<Param> bias_;
};
AXLE_REGISTER(Fp8Linear)

/// Queries, keys and values by one product of 8-bit floats.
class Fp8QKV final : public QKV {
 public:
  struct Config {
    AXLE_CONFIG(Fp8QKV)
  };
  Fp8QKV(const Config&, const Dims& dims, const Scope& scope)
      : QKV(scope),
        num_heads_(dims.num_heads),
        num_kv_heads_(dims.num_kv_heads),
        weight_(param("weight", {.shape = {dims.model_dim, dims.num_heads + 2 * dims.num_kv_heads,
                                           dims.head_dim},
                                 .fan = {.in = {0}, .out = {1, 2}}})) {}
  bool can_decode() const override { return true; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override {
    const Tensor heads = einsum("btd,dnh->btnh", rounded(x_BTD), rounded(weight_()));
    const Values parts = split(heads, {num_heads_, num_kv_heads_, num_kv_heads_}, 2);
    return {.q_BTNH = parts[0], .k_BSKH = parts[1], .v_BSKH = parts[2]};
  }

 private:
  int64_t num_heads_, num_kv_heads_;
  Param weight_;
};
AXLE_REGISTER(Fp8QKV)

void add_fp8(ConfigRef world) {
  replace_config<Linear>(world, Fp8Linear::Config{});
  replace_config<QKV>(world, Fp8QKV::Config{});
}
AXLE_REGISTER(add_fp8, "fp8")
