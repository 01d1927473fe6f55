// Weights as small whole numbers: neighbours along the inputs share a scale and an offset.
//
// Source: the block types of ggml, whose values all have this form; rounding between the smallest
//   and the largest number: Jacob et al. 2018, arXiv 1712.05877, section 2.1.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// A weight as codes: weight = scale * code + offset, where `group` neighbours along the inputs
/// share a scale and an offset. Products and sums are f32.
struct CodedWeight {
  Tensor codes;    // u8, whole numbers of `bits` bits; two of 4 bits in a byte, the first one low
  Tensor scales;   // f16 or f32
  Tensor offsets;  // as scales
};

/// How a weight is coded. Its inputs are dims that lie side by side; they count as one.
struct CodeForm {
  Shape weight_dims;
  size_t first_input = 0, num_inputs = 1;  // dims of the weight
  int64_t bits = 4;                        // 4 or 8
  int64_t group = 32;                      // divides the number of inputs

  /// The number of inputs: the product of their sizes.
  int64_t inputs() const;
  /// The dims of the codes and of the scales: those of the weight, with one dim for the inputs.
  Shape code_dims() const { return with_inputs(inputs() * bits / 8); }
  Shape scale_dims() const { return with_inputs(inputs() / group); }

  // Tensors may have dims in front of the form's own: layers of a loop, experts.

  /// Returns the weight, f32.
  Tensor decode(const CodedWeight& coded) const;
  /// Rounds each group of a weight between its smallest and its largest number. Scales and offsets
  /// are of `scale_dtype`.
  CodedWeight encode(const Tensor& weight, DType scale_dtype) const;
  /// Rounds a weight to the nearest codes for these scales and offsets.
  Tensor encode(const Tensor& weight, const Tensor& scales, const Tensor& offsets) const;
  /// Packs whole numbers of `bits` bits, u8 of the weight's dims with one dim for the inputs.
  Tensor pack(const Tensor& numbers) const;

 private:
  double largest_code() const { return bits == 4 ? 15 : 255; }
  Shape with_inputs(int64_t size) const;
  int64_t input_axis(const Tensor& x) const;
  Tensor grouped(const Tensor& weight) const;
};

}  // namespace axle
