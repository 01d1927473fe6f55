// Projections into and out of attention heads.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim   N heads   H head dim
#pragma once

#include "layers/products/product.h"

namespace axle {

/// The sizes of a head projection, given by attention.
struct HeadDims {
  /// Size of the model dim D.
  Positive<int64_t> model_dim;
  /// Number of heads.
  Positive<int64_t> num_heads;
  /// Size of one head.
  Positive<int64_t> head_dim;
  /// For keys and values, the number of query heads that share the heads; none: no sharing.
  std::optional<Positive<int64_t>> num_query_heads = {};
  AXLE_CONFIG(HeadDims, model_dim, num_heads, head_dim, num_query_heads)
};

/// Returns how often each of `num_heads` key or value heads is repeated, so that every device along
/// kShardAxes has the head that its queries need. Returns 1 if there are at least as many heads as
/// devices, or if the numbers do not divide.
int64_t num_head_copies(int64_t num_heads, int64_t num_query_heads);

/// x_BTD -> y_BTNH, dtype of x.
class HeadInput : public LayerRole<HeadInput, Tensor(const Tensor& x_BTD)> {
 public:
  using Dims = HeadDims;
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  void check_result(const Tensor& y_BTNH, const Tensor& x_BTD) const;
};

/// x_BTNH -> y_BTD, dtype of x.
class HeadOutput : public LayerRole<HeadOutput, Tensor(const Tensor& x_BTNH)> {
 public:
  using Dims = HeadDims;
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::head_dim, 4};
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  void check_arguments(const Tensor& x_BTNH) const;
  void check_result(const Tensor& y_BTD, const Tensor& x_BTNH) const;
};

/// y_BTNH = x_BTD * weight + bias. Parameters: weight[D, N, H], and bias[N, H] if `bias` is set.
///
/// If devices share key/value heads, the weight is repeated num_head_copies times along N, so that
/// each device computes only the head it needs. y then has N * num_head_copies heads. Heads are not
/// repeated while decoding, since the caches keep each head once.
class HeadInputLinear final : public HeadInput {
 public:
  struct Config {
    /// True: a bias is added to the product.
    bool bias = false;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(HeadInputLinear, bias, product)
  };
  HeadInputLinear(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD) override;

 private:
  Dims dims_;
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

/// y_BTD = x_BTNH * weight + bias, summed over heads. Parameters: weight[D, N, H], and bias[D] if
/// `bias` is set.
class HeadOutputLinear final : public HeadOutput {
 public:
  struct Config {
    /// True: a bias is added to the product.
    bool bias = false;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(HeadOutputLinear, bias, product)
  };
  HeadOutputLinear(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTNH) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

extern template class LayerRole<HeadInput, HeadInput::Signature>;
extern template class LayerRole<HeadOutput, HeadOutput::Signature>;

}  // namespace axle
