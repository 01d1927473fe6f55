// Embeddings of token ids.
//
// Letters in tensor names:
//   B batch   T positions   V vocabulary   D model dim
#pragma once

#include "config/config_type.h"
#include "config/fields.h"
#include "ir/devices/mesh.h"
#include "ir/tensor.h"
#include "layers/mesh_axes.h"
#include "layers/products/product.h"

namespace axle {

/// The factor on embedded vectors, from the model dim.
using EmbeddingScale = Fn<double(int64_t)>;

/// The square root of the model dim: vectors drawn with variance 1 / dim get elements of size 1.
struct RootOfDim {
  double operator()(int64_t dim) const;
  AXLE_CONFIG(RootOfDim)
};

/// `value`, for any model dim.
struct ConstantScale {
  /// The factor.
  Required<Positive<double>> value = REQUIRED;
  static constexpr std::string_view kFromNumber = "value";
  double operator()(int64_t) const { return value; }
  AXLE_CONFIG(ConstantScale, value)
};

/// Maps ids_BT (integers) to x_BTD, and maps vectors back to logits with the same weight.
class TokenEmbedding : public LayerRole<TokenEmbedding, Tensor(const Tensor& ids_BT)> {
 public:
  /// The sizes of the table, given by the decoder.
  struct Dims {
    /// Number of token ids.
    Positive<int64_t> vocab_size;
    /// Size of a vector.
    Positive<int64_t> model_dim;
    AXLE_CONFIG(Dims, vocab_size, model_dim)
  };
  static constexpr InputNames kInputs = {"ids"};
  static constexpr InputNames kAttendInputs = {"x"};
  using LayerRole::LayerRole;
  /// x_BTD -> logits_BTV, dtype of x.
  Tensor attend(const Tensor& x_BTD);
  /// V, the number of token ids.
  virtual int64_t vocab_size() const = 0;
  std::vector<Method> methods() override;

 protected:
  friend LayerRole;
  static PartitionSpec activation() { return kTokenAxes; }
  void check_result(const Tensor& x_BTD, const Tensor& ids_BT) const;
  virtual Tensor attend_forward(const Tensor& x_BTD) = 0;
};

/// Looks up the row of each id; attend() multiplies x with every row. Ids outside the vocabulary
/// are clamped to it.
///
/// Numerics: the factors are applied in f32.
///
/// Parameters: weight[V, D].
class Embedding final : public TokenEmbedding {
 public:
  struct Config {
    /// Initialiser of the weight; the option @init of slots does not apply.
    Init init =
        VarianceScaling{.scale = 1, .fan = Fan::kOut, .distribution = Distribution::kNormal};
    /// Factor on the vectors that are looked up, not on those of attend(); none: no factor.
    std::optional<EmbeddingScale> scale = {};
    /// Factor on the logits of attend(). MuP lowers it as the model becomes wider.
    Positive<double> attend_scale = 1;
    /// Multiplies x by the weight, in attend().
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(Embedding, init, scale, attend_scale, product)
  };
  Embedding(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return vocab_size_; }

 protected:
  Tensor forward(const Tensor& ids_BT) override;
  Tensor attend_forward(const Tensor& x_BTD) override;

 private:
  Tensor look_up(const Tensor& ids_BT);
  int64_t vocab_size_;
  std::optional<double> scale_;
  double attend_scale_;
  Param weight_;
  // Layout of the weight during the lookup, without kModelDimAxes: the weight is all-gathered over
  // them first. A lookup in a table sharded over them would move every token between devices.
  PartitionSpec table_axes_;
  Handle<Product> product_;
};

extern template class LayerRole<TokenEmbedding, TokenEmbedding::Signature>;

// The gradient of an embedding lookup whose tokens are sharded over devices.

/// Returns the gradient [V, D] of weight_VD for a lookup of ids_BT, where g_BTD is the cotangent of
/// the embedded tokens. `partition` is the layout of the weight.
///
/// Each device sums over its own tokens in f32, like the gradient of gather. Devices then sum their
/// results in the weight's dtype, like the gradient of the head: compilers merge both sums into one
/// collective. Mesh axes that shard both the tokens and the weight are summed first, so that each
/// device receives only its own shard of the gradient.
Tensor lookup_gradient(const Tensor& weight_VD, const Tensor& ids_BT, const Tensor& g_BTD,
                       const PartitionSpec& partition, const Mesh& mesh);

}  // namespace axle
