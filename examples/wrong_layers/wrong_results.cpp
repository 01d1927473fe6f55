// Layers whose results have the wrong shape or dtype, and two that end with an exception.
// run: --set model.decoder.output_norm=FlatNorm
// prints: decoder.output_norm: expected FlatNorm to return f32[2, 8, 8], got f32[2, 64]
// run: --set model.decoder.layers.layer.feed_forward.body=HalfMixer
// prints: feed_forward.body: expected HalfMixer to return f32[2, 8, 8], got bf16[2, 8, 8]
// run: --set model.decoder.layers.layer.attention.body.core=TurnedCore
// prints: attention.body.core: expected TurnedCore to return f32[2, 8, 4, 2], got f32[2, 4, 8, 2]
// run: --set model.decoder.layers.layer.attention.body.kv_cache=SlicingCache
// prints: kv_cache: expected SlicingCache to return values f32[2, ?, 4, 2], got f32[2, 8, 4, 1]
// run: --set model.decoder.layers.layer.feed_forward.body=MoE
// run: --set model.decoder.layers.layer.feed_forward.body.num_experts=2
// run: --set model.decoder.layers.layer.feed_forward.body.router=LazyRouter
// prints: router: expected LazyRouter to return weights f32[2, 8, 1], got an empty tensor
// run: --set model.decoder.emb.product=SameProduct
// prints: decoder.emb.product: expected SameProduct to return f32[2, 8, 264], got f32[2, 8, 8]
// run: --set model.decoder.layers.layer.feed_forward.body.down.product=SameProduct
// prints: feed_forward.body.down.product: expected SameProduct to return f32[2, 8, 8], got f32[2,
// run: --set model.decoder.layers.layer.attention.body.qkv=OneHeadQKV
// prints: attention.body.qkv: expected OneHeadQKV to return queries f32[2, 8, 4, ?], got
// run: --set model.decoder.layers.layer.attention.body.bias=FlatBias
// prints: attention.body.bias: expected FlatBias to return f32[4, 8, 8], got f32[8, 8]
// run: --set model.decoder.output_norm=LostNorm
// prints: decoder.output_norm: the call of LostNorm ended with an exception: a tree has no entry
// prints: a tree has no entry 'x'; look for the mistake in this class
// run: --set model.decoder.output_norm=ThrownNumber
// prints: decoder.output_norm: the call of ThrownNumber ended with an exception: a value that is no
#include <axle/axle.h>

using namespace axle;

class FlatNorm final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(FlatNorm)
  };
  FlatNorm(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return reshape(x, {x.dim(0), x.dim(1) * x.dim(2)}); }
};
AXLE_REGISTER(FlatNorm)

class HalfMixer final : public Mixer {
 public:
  struct Config {
    AXLE_CONFIG(HalfMixer)
  };
  HalfMixer(const Config&, const Dims&, const Scope& scope) : Mixer(scope) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    return astype(x_BTD, DType::kBF16);
  }
};
AXLE_REGISTER(HalfMixer)

class TurnedCore final : public AttentionCore {
 public:
  struct Config {
    AXLE_CONFIG(TurnedCore)
  };
  TurnedCore(const Config&, const Dims&, const Scope& scope) : AttentionCore(scope) {}

 protected:
  Tensor forward(const Tensor&, const KeyValues& keys, const Visibility&) override {
    return transpose(keys.v_BSKH, {0, 2, 1, 3});
  }
};
AXLE_REGISTER(TurnedCore)

class SlicingCache final : public KVCache {
 public:
  struct Config {
    AXLE_CONFIG(SlicingCache)
  };
  SlicingCache(const Config&, const Dims&, const Scope& scope) : KVCache(scope) {}

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override {
    KeyValues all = fresh_BTKH;
    all.v_BSKH = slice_in_dim(all.v_BSKH, 3, 0, 1);
    return all;
  }
};
AXLE_REGISTER(SlicingCache)

class LazyRouter final : public Router {
 public:
  struct Config {
    AXLE_CONFIG(LazyRouter)
  };
  LazyRouter(const Config&, const Dims&, const Scope& scope) : Router(scope) {}
  int64_t num_choices() const override { return 1; }

 protected:
  Routing forward(const Tensor& x_BTD) override {
    return {.experts_BTK = zeros({x_BTD.dim(0), x_BTD.dim(1), 1}, DType::kI32), .weights_BTK = {}};
  }
};
AXLE_REGISTER(LazyRouter)

class SameProduct final : public Product {
 public:
  struct Config {
    AXLE_CONFIG(SameProduct)
  };
  SameProduct(const Config&, const Dims&, const Scope& scope) : Product(scope) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor&) override { return x; }
};
AXLE_REGISTER(SameProduct)

class OneHeadQKV final : public QKV {
 public:
  struct Config {
    AXLE_CONFIG(OneHeadQKV)
  };
  OneHeadQKV(const Config&, const Dims&, const Scope& scope) : QKV(scope) {}
  bool can_decode() const override { return true; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override {
    const Tensor head_BT1D = expand_dims(x_BTD, 2);
    return {.q_BTNH = head_BT1D, .k_BSKH = head_BT1D, .v_BSKH = head_BT1D};
  }
};
AXLE_REGISTER(OneHeadQKV)

class FlatBias final : public LogitBias {
 public:
  struct Config {
    AXLE_CONFIG(FlatBias)
  };
  FlatBias(const Config&, const Dims&, const Scope& scope) : LogitBias(scope) {}

 protected:
  Tensor forward(const TokenPositions& at) override {
    return -abs(astype(at.query_positions - at.key_positions, DType::kF32));
  }
};
AXLE_REGISTER(FlatBias)

class LostNorm final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(LostNorm)
  };
  LostNorm(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return factors_.at("x") * x; }

 private:
  Tree<double> factors_;
};
AXLE_REGISTER(LostNorm)

class ThrownNumber final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(ThrownNumber)
  };
  ThrownNumber(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor&) override { throw 42; }
};
AXLE_REGISTER(ThrownNumber)

int main(int argc, char** argv) { return run_cli(argc, argv); }
