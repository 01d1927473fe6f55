// Low-rank updates beside every projection of attention and of feed-forward layers.
//
// Letters in tensor names:
//   B batch   T positions   D model dim   N heads   H head dim   R rank
//
// Source: Hu et al. 2021, "LoRA", arXiv 2106.09685, section 4.1.
#include "world/experiment.h"

using namespace axle;

/// y = inner(x) + scale * (x a) b. b starts at 0, so that y starts as inner(x).
class LoraLinear final : public Projection {
 public:
  struct Config {
    /// Width between a and b.
    Positive<int64_t> rank = 2;
    /// Factor of the update.
    Positive<double> scale = 2;
    /// The projection that is updated.
    Child<Projection> inner = Linear::Config{};
    AXLE_CONFIG(LoraLinear, rank, scale, inner)
  };
  LoraLinear(const Config& cfg, const Dims& dims, const Scope& scope)
      : Projection(scope),
        scale_(cfg.scale),
        inner_(child("inner", cfg.inner, dims)),
        a_(param("a", {.shape = {dims.input_dim, cfg.rank}})),
        b_(param("b", {.shape = {cfg.rank, dims.output_dim}, .init = Zeros{}})) {}

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = inner_(x);
    return y + scale_ * dot(dot(x, a_()), b_());
  }

 private:
  double scale_;
  Handle<Projection> inner_;
  Param a_, b_;
};
AXLE_REGISTER(LoraLinear)

/// The same for the heads of queries and values.
class LoraQKV final : public WrappedQKV {
 public:
  struct Config {
    /// Width between a and b.
    Positive<int64_t> rank = 2;
    /// Factor of the update.
    Positive<double> scale = 2;
    /// The projections that are updated.
    Child<QKV> inner = FusedQKV::Config{};
    AXLE_CONFIG(LoraQKV, rank, scale, inner)
  };
  LoraQKV(const Config& cfg, const Dims& dims, const Scope& scope)
      : WrappedQKV(cfg.inner, dims, scope),
        scale_(cfg.scale),
        q_a_(param("q_a", {.shape = {dims.model_dim, cfg.rank}})),
        q_b_(param("q_b", {.shape = {cfg.rank, dims.num_heads, dims.head_dim}, .init = Zeros{}})),
        v_a_(param("v_a", {.shape = {dims.model_dim, cfg.rank}})),
        v_b_(param("v_b",
                   {.shape = {cfg.rank, dims.num_kv_heads, dims.head_dim}, .init = Zeros{}})) {}

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override {
    QKVTensors heads = inner_(x_BTD, positions_BT);
    heads.q_BTNH = heads.q_BTNH + update(x_BTD, q_a_, q_b_);
    if (heads.v_BSKH) heads.v_BSKH = heads.v_BSKH + update(x_BTD, v_a_, v_b_);
    return heads;
  }

 private:
  Tensor update(const Tensor& x_BTD, const Param& a_DR, const Param& b_RNH) const {
    return scale_ * einsum("btr,rnh->btnh", dot(x_BTD, a_DR()), b_RNH());
  }
  double scale_;
  Param q_a_, q_b_, v_a_, v_b_;
};
AXLE_REGISTER(LoraQKV)

void add_lora(ConfigRef world) {
  wrap<Projection>(world, LoraLinear::Config{}, &LoraLinear::Config::inner);
  wrap<QKV>(world, LoraQKV::Config{}, &LoraQKV::Config::inner);
}
AXLE_REGISTER(add_lora, "lora")
