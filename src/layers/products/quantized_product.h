// Products with a weight that is kept as small whole numbers, which take a quarter to a half of the
// memory of bf16.
//
// Source: Dettmers et al. 2023, "QLoRA", arXiv 2305.14314, section 3 (products with a frozen,
//   quantized weight below trained adapters); the numbers are those of CodeForm.
#pragma once

#include "base/tree.h"
#include "ir/code_scheme.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "layers/products/product.h"

namespace axle {

// Weights as small whole numbers: neighbours along the inputs share a scale and an offset.
//
// Source: the block types of ggml, whose values all have this form; rounding between the smallest
//   and the largest number: Jacob et al. 2018, arXiv 1712.05877, section 2.1.

/// The parts of a coded weight by their names (parts_of). Codes are u8: one of 8 bits in a byte; of
/// 4 bits two, the first one low. Of codes of 5 and 6 bits, 8 neighbours have 4 bytes of their low
/// 4 bits, and then the bytes of their upper bits, the first one low.
using CodedWeight = Tree<Tensor>;

/// How a weight is coded. Its inputs are dims that lie side by side; they count as one.
struct CodeForm {
  Shape weight_dims;
  size_t first_input = 0, num_inputs = 1;  // dims of the weight
  CodeScheme scheme;                       // its groups divide the number of inputs

  /// The number of inputs: the product of their sizes.
  int64_t inputs() const;
  /// Returns what the inputs must be a multiple of.
  int64_t unit() const;
  /// The dims of a part: the weight's, with one dim for the inputs.
  Shape dims_of(const CodePart& part) const;
  /// The same, of codes that are one in a byte.
  Shape unpacked_dims_of(const CodePart& part) const {
    return with_inputs(inputs() / part.numbers);
  }

  // Tensors may have dims in front of the form's own: layers of a loop, experts.

  /// Returns the weight, f32.
  Tensor decode(const CodedWeight& coded) const;
  /// Rounds each group of a weight: between its smallest and its largest number, or between the
  /// largest magnitude and its negative.
  CodedWeight encode(const Tensor& weight) const;
  /// Packs whole numbers, u8 of the weight's dims with one dim for the inputs.
  Tensor pack(const Tensor& numbers) const;

 private:
  Shape with_inputs(int64_t size) const;
  int64_t input_axis(const Tensor& x) const;
  Tensor grouped(const Tensor& weight) const;
  Tensor unpack(const Tensor& codes) const;
  Tensor numbers_of(const CodedWeight& coded, std::string_view part, std::string_view block) const;
  void put_numbers(const Tensor& numbers, std::string_view part, std::string_view block,
                   CodedWeight& out) const;
};

/// y = einsum(spec, x, weight), where the product itself holds the weight, as codes. The weight of
/// the layer that owns the product is then no parameter of the model. The weight is decoded in
/// each call, in f32, rounded to the dtype of x, and again in the backward pass, so that only the
/// codes stay in memory. A large weight is decoded and multiplied in parts of its outputs, in a
/// loop. Codes are never trained: adapters around the product are (LoraProduct).
///
/// Shapes: dtype of x.
/// Parameters, with one dim [I] for all inputs of the weight: codes u8[.. I * bits / 8 ..], scales
///   and offsets[.. I / group ..], block_scales and block_offsets f16[.. I / 256 ..], as the scheme
///   has them (parts_of).
/// Throws ConfigError at construction if the weight has other uses than this product, and if
/// groups, blocks and whole bytes of codes do not divide the number of inputs.
class QuantizedProduct final : public Product {
 public:
  struct Config {
    /// Bits of a code.
    CodeBits bits = CodeBits::kFour;
    /// Neighbouring inputs that share a scale and an offset.
    Positive<int64_t> group = 32;
    /// Scales and offsets: numbers of f16 or f32, or i8, times an f16 for 256 neighbouring inputs.
    ScaleForm scales = ScaleForm::kF16;
    /// Own: each group has an offset. Middle: none has; the code 2^(bits - 1) stands for 0.
    OffsetForm offsets = OffsetForm::kOwn;
    /// The largest number of weights that are decoded at once. A larger weight is decoded in parts
    /// of its outputs, if they can be so small and devices do not share them. The default takes 32
    /// MiB.
    Positive<int64_t> decoded_at_once = 8388608;
    AXLE_CONFIG(QuantizedProduct, bits, group, scales, offsets, decoded_at_once)
  };
  QuantizedProduct(const Config& cfg, const Dims& dims, const Scope& scope);
  /// Returns the config for codes of this scheme.
  static Config config_of(const CodeScheme& scheme);
  bool can_decode() const override { return true; }
  Tensor rows(const Tensor& weight, const Tensor& ids, const PartitionSpec& axes) override;
  /// Codes of a random weight.
  Tree<Tensor> initialize(const random::Key& key) const override;

  /// Replaces a weight among `parameters` by codes, as CodeForm::encode does. It may have dims in
  /// front of its own: layers of a loop, experts. Throws ConfigError if f16 cannot hold its scales.
  void encode_in(Tree<HostTensor>& parameters) const;
  /// Sets the parts that stand for a weight, by their names; codes are u8, one in a byte. All have
  /// the dims in front.
  void put_in(Tree<HostTensor>& parameters, Tree<HostTensor> parts) const;
  /// Replaces the codes among `parameters` by the weight, f32.
  void decode_in(Tree<HostTensor>& parameters) const;
  /// The path of the weight, which the model does not have.
  const std::string& weight_path() const { return weight_path_; }
  /// True if the layer that owns the weight looks up rows of it: a table.
  bool is_table() const { return is_table_; }
  /// The paths of the parts, the codes first.
  std::vector<std::string> own_paths() const;
  const CodeForm& form() const { return form_; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  CodeForm checked_form(const Config& cfg, const Dims& dims) const;
  CodedWeight coded() const;
  int64_t num_parts_for(const Tensor& weight) const;
  Tensor in_parts(const Tensor& x, int64_t num_parts) const;

  CodeForm form_;
  std::string spec_;
  ProductLetters letters_;
  std::string weight_path_;
  PartitionSpec weight_axes_;
  bool is_table_;
  int64_t decoded_at_once_;
  FanAxes fan_;
  Tree<Param> parts_;
};

/// Returns the products of `model` that hold their weights as codes.
std::vector<const QuantizedProduct*> quantized_products(const Layer& model);

}  // namespace axle
