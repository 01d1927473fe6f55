// Layers whose results do not fit their role, for every role with a rule of its own. (Those that
// keep the type of their input have one rule, examples/wrong_layers.)
#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/convolution/convolution.h"
#include "layers/dense/linear.h"
#include "layers/models/embedding.h"
#include "layers/models/model.h"
#include "layers/products/product.h"
#include "layers/recurrent/recurrent.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "testing/layer_inputs.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::LawInputs;
using testing::normal_values;

class SameProduct final : public Product {
 public:
  struct Config {
    AXLE_CONFIG(SameProduct)
  };
  SameProduct(const Config&, const Dims&, const Scope& scope) : Product(scope) {}

 protected:
  Tensor forward(const Tensor& x, const Tensor&) override { return x; }
};
AXLE_REGISTER(SameProduct)

class SameProjection final : public Projection {
 public:
  struct Config {
    AXLE_CONFIG(SameProjection)
  };
  SameProjection(const Config&, const Dims&, const Scope& scope) : Projection(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
AXLE_REGISTER(SameProjection)

class SameMaps final : public MultiProjection {
 public:
  struct Config {
    AXLE_CONFIG(SameMaps)
  };
  SameMaps(const Config&, const Dims&, const Scope& scope) : MultiProjection(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
AXLE_REGISTER(SameMaps)

class SameHeads final : public HeadInput {
 public:
  struct Config {
    AXLE_CONFIG(SameHeads)
  };
  SameHeads(const Config&, const Dims&, const Scope& scope) : HeadInput(scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD) override { return expand_dims(x_BTD, 2); }
};
AXLE_REGISTER(SameHeads)

class OneHead final : public HeadOutput {
 public:
  struct Config {
    AXLE_CONFIG(OneHead)
  };
  OneHead(const Config&, const Dims&, const Scope& scope) : HeadOutput(scope) {}

 protected:
  Tensor forward(const Tensor& x_BTNH) override { return reduce_sum(x_BTNH, {2}); }
};
AXLE_REGISTER(OneHead)

class FlatBias final : public LogitBias {
 public:
  struct Config {
    AXLE_CONFIG(FlatBias)
  };
  FlatBias(const Config&, const Dims&, const Scope& scope) : LogitBias(scope) {}

 protected:
  Tensor forward(const TokenPositions& positions) override {
    return zeros({positions.query_positions.dim(-2), positions.key_positions.dim(-1)}, DType::kF32);
  }
};
AXLE_REGISTER(FlatBias)

class SameConvolution final : public ConvolutionLayer {
 public:
  struct Config {
    AXLE_CONFIG(SameConvolution)
  };
  SameConvolution(const Config&, const Dims&, const Scope& scope) : ConvolutionLayer(scope) {}

 protected:
  Tensor forward(const Tensor& x, const std::optional<Tensor>&) override { return x; }
};
AXLE_REGISTER(SameConvolution)

class TurnedQKV final : public QKV {
 public:
  struct Config {
    AXLE_CONFIG(TurnedQKV)
  };
  TurnedQKV(const Config&, const Dims&, const Scope& scope) : QKV(scope) {}

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override {
    const Tensor x_B1TD = expand_dims(x_BTD, 1);
    return {.q_BTNH = x_B1TD, .k_BSKH = x_B1TD, .v_BSKH = x_B1TD};
  }
};
AXLE_REGISTER(TurnedQKV)

class KeylessQKV final : public QKV {
 public:
  struct Config {
    AXLE_CONFIG(KeylessQKV)
  };
  KeylessQKV(const Config&, const Dims&, const Scope& scope) : QKV(scope) {}

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override {
    return {.q_BTNH = reshape(x_BTD, {x_BTD.dim(0), x_BTD.dim(1), 2, x_BTD.dim(2) / 2})};
  }
};
AXLE_REGISTER(KeylessQKV)

class IdsAsVectors final : public TokenEmbedding {
 public:
  struct Config {
    AXLE_CONFIG(IdsAsVectors)
  };
  IdsAsVectors(const Config&, const Dims&, const Scope& scope) : TokenEmbedding(scope) {}

  int64_t vocab_size() const override { return 7; }

 protected:
  Tensor forward(const Tensor& ids_BT) override { return expand_dims(ids_BT, -1); }
  Tensor attend_forward(const Tensor& x_BTD) override { return x_BTD; }
};
AXLE_REGISTER(IdsAsVectors)

class SameCell final : public RecurrentCell {
 public:
  struct Config {
    AXLE_CONFIG(SameCell)
  };
  SameCell(const Config&, const Dims&, const Scope& scope) : RecurrentCell(scope) {}

  Tree<CellStateSpec> state_specs_of(int64_t, DType) const override { return {}; }

 protected:
  CellStep step_forward(const Tensor& x_BI, const Tree<Tensor>&) override { return {.y = x_BI}; }
};
AXLE_REGISTER(SameCell)

class LossOfEachToken final : public Model {
 public:
  struct Config {
    AXLE_CONFIG(LossOfEachToken)
  };
  LossOfEachToken(const Config&, const Dims&, const Scope& scope) : Model(scope) {}

  int64_t vocab_size() const override { return 7; }

 protected:
  ModelOutput forward(const Tree<Tensor>& batch) override {
    return {.loss = astype(batch.at("input_ids"), DType::kF32)};
  }
  Tensor logits_forward(const Tree<Tensor>& batch) override { return batch.at("input_ids"); }
  Tensor next_logits_forward(const Tree<Tensor>& batch) override { return batch.at("input_ids"); }
};
AXLE_REGISTER(LossOfEachToken)

template <class L>
std::string error_of_call(const typename L::Role::Dims& dims) {
  return error_of<ShapeError>(
      [&] { build_for_test<L>({}, dims).call(LawInputs<typename L::Role>::make(dims)); });
}

TEST(WrongResults, NameTheClassThePathAndTheExpectedType) {
  EXPECT_EQ(error_of_call<SameProjection>({.input_dim = 4, .output_dim = 6}),
            "same_projection: expected SameProjection to return f32[2, 3, 6], got f32[2, 3, 4]");
  EXPECT_EQ(error_of_call<SameMaps>({.input_dim = 4, .num_outputs = 2, .output_dim = 4}),
            "same_maps: expected SameMaps to return f32[2, 3, 2, 4], got f32[2, 3, 4]");
  EXPECT_EQ(error_of_call<SameHeads>({.model_dim = 6, .num_heads = 2, .head_dim = 3}),
            "same_heads: expected SameHeads to return f32[2, 4, 2, 3], got f32[2, 4, 1, 6]");
  EXPECT_EQ(error_of_call<OneHead>({.model_dim = 6, .num_heads = 2, .head_dim = 3}),
            "one_head: expected OneHead to return f32[2, 4, 6], got f32[2, 4, 3]");
  EXPECT_EQ(error_of_call<FlatBias>({.num_heads = 2}),
            "flat_bias: expected FlatBias to return f32[2, 3, 4], got f32[3, 4]");
  EXPECT_EQ(error_of_call<SameConvolution>({.input_dim = 2, .output_dim = 3}),
            "same_convolution: expected SameConvolution to return f32[2, ?, 3], got f32[2, 5, 2]");
  const QKV::Dims heads{.model_dim = 6, .num_heads = 2, .num_kv_heads = 2, .head_dim = 3};
  EXPECT_EQ(
      error_of_call<TurnedQKV>(heads),
      "turned_qkv: expected TurnedQKV to return queries f32[2, 4, 2, ?], got f32[2, 1, 4, 6]");
  EXPECT_EQ(error_of_call<KeylessQKV>(heads),
            "keyless_qkv: expected KeylessQKV to return keys f32[2, 4, ?, 3], got an empty tensor");
  EXPECT_EQ(error_of_call<SameCell>({.input_dim = 2, .output_dim = 3}),
            "same_cell: expected SameCell to return f32[2, 3], got f32[2, 2]");
  EXPECT_EQ(error_of_call<LossOfEachToken>({}),
            "loss_of_each_token: expected LossOfEachToken to return loss f32[], got f32[2, 4]");
}

TEST(WrongResults, ProductsAreCheckedByTheirSpec) {
  const auto error_of_product = [](const std::string& spec, Shape weight) {
    const Product::Dims dims{.spec = spec, .weight_dims = {weight.begin(), weight.end()}};
    return error_of<ShapeError>([&] {
      build_for_test<SameProduct>({}, dims).call(
          {{"x", normal_values({2, 3, 4}, 1)}, {"weight", normal_values(weight, 2)}});
    });
  };
  EXPECT_EQ(error_of_product("...i,io->...o", {4, 5}),
            "same_product: expected SameProduct to return f32[2, 3, 5], got f32[2, 3, 4]");
  EXPECT_EQ(error_of_product("btd,pdnh->pbtnh", {2, 4, 1, 4}),
            "same_product: expected SameProduct to return f32[2, 2, 3, 1, 4], got f32[2, 3, 4]");
}

TEST(WrongResults, EmbeddingsAreChecked) {
  const TokenEmbedding::Dims dims{.vocab_size = 7, .model_dim = 3};
  EXPECT_EQ(error_of_call<IdsAsVectors>(dims),
            "ids_as_vectors: expected IdsAsVectors to return f32[2, 4, 3], got i32[2, 4, 1]");
  EXPECT_ERROR(
      build_for_test<IdsAsVectors>({}, dims).call({{"x", normal_values({2, 4, 3}, 1)}},
                                                  {.method = "attend"}),
      "ids_as_vectors: expected IdsAsVectors to return logits f32[2, 4, 7], got f32[2, 4, 3]");
}

}  // namespace
}  // namespace axle
