// Projections into and out of attention heads.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim   N heads   H head dim
#pragma once

#include "nn/layer.h"

namespace axle {

/// What attention tells.
struct HeadDims {
  /// Size of the last dim of x.
  Positive<int64_t> model_dim;
  /// Number of heads.
  Positive<int64_t> num_heads;
  /// Size of one head.
  Positive<int64_t> head_dim;
  /// Heads of queries that share these heads of keys or values; none: nothing shares them.
  std::optional<Positive<int64_t>> num_query_heads = {};
  AXLE_CONFIG(HeadDims, model_dim, num_heads, head_dim, num_query_heads)
};

/// How often each of `num_heads` heads of keys or values is repeated, so that every device of the
/// axes of heads has one, that of its queries: 1 where there are as many heads as devices, and
/// where that does not divide.
int64_t copies_of_heads(int64_t num_heads, int64_t num_query_heads);

/// x_BTD -> y_BTNH, dtype of x.
class HeadInput : public LayerRole<HeadInput, Tensor(const Tensor& x_BTD)> {
 public:
  using Dims = HeadDims;
  static constexpr InputNames kInputs = {"x"};
  using LayerRole::LayerRole;
};

/// x_BTNH -> y_BTD, dtype of x.
class HeadOutput : public LayerRole<HeadOutput, Tensor(const Tensor& x_BTNH)> {
 public:
  using Dims = HeadDims;
  static constexpr InputNames kInputs = {"x"};
  using LayerRole::LayerRole;
};

/// y_BTNH = x_BTD * weight + bias. Parameters: weight[D, N, H], bias[N, H] if asked for. Heads that
/// devices share (copies_of_heads) are repeated in the weight, so that each device computes its own
/// alone: then y has that many more heads. Not in decoding, whose caches keep each head once.
class HeadInputLinear final : public HeadInput {
 public:
  struct Config {
    /// Whether something is added to the product.
    bool bias = false;
    AXLE_CONFIG(HeadInputLinear, bias)
  };
  HeadInputLinear(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD) override;

 private:
  Dims dims_;
  Param weight_;
  std::optional<Param> bias_;
};

/// y_BTD = x_BTNH * weight + bias, summed over heads. Parameters: weight[D, N, H], bias[D] if asked
/// for.
class HeadOutputLinear final : public HeadOutput {
 public:
  struct Config {
    /// Whether something is added to the product.
    bool bias = false;
    AXLE_CONFIG(HeadOutputLinear, bias)
  };
  HeadOutputLinear(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTNH) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
};

}  // namespace axle
