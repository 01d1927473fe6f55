// Weights as small whole numbers: neighbours along the inputs share a scale and an offset.
//
// Source: the block types of ggml, whose values all have this form; rounding between the smallest
//   and the largest number: Jacob et al. 2018, arXiv 1712.05877, section 2.1.
#pragma once

#include "base/tree.h"
#include "ir/code_scheme.h"
#include "ir/tensor.h"

namespace axle {

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
  /// The dims of a part: those of the weight, with one dim for the inputs.
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

}  // namespace axle
