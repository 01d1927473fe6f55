// Products with a weight that is kept as small whole numbers, which take a quarter to a half of the
// memory of bf16.
//
// Source: Dettmers et al. 2023, "QLoRA", arXiv 2305.14314, section 3 (products with a frozen,
//   quantized weight below trained adapters); the numbers are those of grouped_codes.h.
#pragma once

#include "base/text/enum_text.h"
#include "ir/host_tensor.h"
#include "layers/products/grouped_codes.h"
#include "layers/products/product.h"

namespace axle {

enum class CodeBits : int64_t { kFour = 4, kEight = 8 };
constexpr auto texts_of(CodeBits) {
  return std::to_array<EnumText<CodeBits>>({{CodeBits::kFour, "4"}, {CodeBits::kEight, "8"}});
}
/// The dtype of scales and offsets.
enum class ScaleDType { kF16, kF32 };
constexpr auto texts_of(ScaleDType) {
  return std::to_array<EnumText<ScaleDType>>(
      {{ScaleDType::kF16, "f16"}, {ScaleDType::kF32, "f32"}});
}

/// y = einsum(spec, x, weight), where the product itself holds the weight, as codes. The weight of
/// the layer that owns the product is then no parameter of the model. The weight is decoded in
/// each call, in f32, rounded to the dtype of x, and again in the backward pass, so that only the
/// codes stay in memory. Codes are never trained: adapters around the product are (LoraProduct).
///
/// Shapes: dtype of x.
/// Parameters, with one dim [I] for all inputs of the weight: codes u8[.. I * bits / 8 ..], scales
///   and offsets[.. I / group ..].
/// Throws ConfigError at construction if the weight has other uses than this product, and if
/// `group` does not divide the number of inputs.
class QuantizedProduct final : public Product {
 public:
  struct Config {
    /// Bits of a code.
    CodeBits bits = CodeBits::kFour;
    /// Neighbouring inputs that share a scale and an offset.
    Positive<int64_t> group = 32;
    /// Dtype of scales and offsets.
    ScaleDType scales = ScaleDType::kF16;
    AXLE_CONFIG(QuantizedProduct, bits, group, scales)
  };
  QuantizedProduct(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  /// Codes of a random weight.
  Tree<Tensor> initialize(const random::Key& key) const override;

  /// Replaces a weight among `parameters` by codes, as CodeForm::encode does. It may have dims in
  /// front of its own: layers of a loop, experts. Throws ConfigError if f16 cannot hold its scales.
  void encode_in(Tree<HostTensor>& parameters) const;
  /// Sets the codes that stand for a weight, for these scales and offsets. All have the dims in
  /// front.
  void encode_in(Tree<HostTensor>& parameters, const HostTensor& weight, HostTensor scales,
                 HostTensor offsets) const;
  /// Replaces the codes among `parameters` by the weight, f32.
  void decode_in(Tree<HostTensor>& parameters) const;
  /// The path of the weight, which the model does not have.
  const std::string& weight_path() const { return weight_path_; }
  /// The paths of the codes, the scales and the offsets.
  std::vector<std::string> own_paths() const {
    return {codes_.path(), scales_.path(), offsets_.path()};
  }
  const CodeForm& form() const { return form_; }
  DType scale_dtype() const { return scale_dtype_; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  CodeForm checked_form(const Config& cfg, const Dims& dims) const;

  CodeForm form_;
  std::string spec_, weight_letters_, weight_path_;
  DType scale_dtype_;
  FanAxes fan_;
  Param codes_, scales_, offsets_;
};

/// Returns the products of `model` that hold their weights as codes.
std::vector<const QuantizedProduct*> quantized_products(const Layer& model);

}  // namespace axle
