// Linear layers: the roles Projection and MultiProjection, and their layers.
#pragma once

#include "layers/products/product.h"
#include "nn/layer.h"

namespace axle {

/// x[..., I] -> y[..., O], dtype of x. Each vector is mapped independently of the others.
class Projection : public LayerRole<Projection, Tensor(const Tensor& x)> {
 public:
  /// The sizes and the layout of the weight, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    /// Size of the last dim of y.
    Positive<int64_t> output_dim;
    /// Mesh axes of the weight along its input dim.
    DimAxes input_axes = {};
    /// Mesh axes of the weight along its output dim.
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, output_dim, input_axes, output_axes)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x) const {
    Type expected = x.type();
    expected.dims.back() = given_dims() ? int64_t{given_dims()->output_dim} : kAnySize;
    expect_result(y, expected);
  }
};

extern template class LayerRole<Projection, Projection::Signature>;

/// x -> x * weight + bias.
///
/// Shapes: x[..., I] f32|bf16 -> y[..., O], dtype of x.
/// Parameters: weight[I, O], and bias[O] if `bias` is set.
class Linear final : public Projection {
 public:
  struct Config {
    /// True: a bias is added to x * weight.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(Linear, bias, product)
  };
  Linear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

/// x[..., I] -> y[..., N, O], dtype of x: N maps of each vector, independent of the other vectors.
class MultiProjection : public LayerRole<MultiProjection, Tensor(const Tensor& x)> {
 public:
  /// The sizes and the layout of the weight, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    /// Number of maps.
    Positive<int64_t> num_outputs;
    /// Size of the last dim of y.
    Positive<int64_t> output_dim;
    /// Mesh axes of the weight along its input dim.
    DimAxes input_axes = {};
    /// Mesh axes of the weight along its output dim.
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, num_outputs, output_dim, input_axes, output_axes)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x) const;
};

extern template class LayerRole<MultiProjection, MultiProjection::Signature>;

/// y[..., n, :] = x * weight[:, n, :] + bias[n, :].
///
/// Shapes: x[..., I] f32|bf16 -> y[..., N, O], dtype of x.
/// Parameters: weight[I, N, O], whose fan out is N * O, and bias[N, O] if `bias` is set.
class MultiLinear final : public MultiProjection {
 public:
  struct Config {
    /// True: a bias is added to the products.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(MultiLinear, bias, product)
  };
  MultiLinear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

/// x -> x * (weight / the length of each column of weight) + bias. The length is
/// sqrt(sum of squares + 1e-8).
///
/// Shapes: x[..., I] f32|bf16 -> y[..., O], dtype of x.
/// Numerics: the lengths are computed in f32; the divided weight is rounded to its dtype.
/// Parameters: weight[I, O], and bias[O] if `bias` is set.
class UnitNormLinear final : public Projection {
 public:
  struct Config {
    /// True: a bias is added to the product.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(UnitNormLinear, bias, product)
  };
  UnitNormLinear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

}  // namespace axle
