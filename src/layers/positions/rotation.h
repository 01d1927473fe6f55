// Rotation of pairs of elements by angles that depend on the position.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   N heads   H head dim   P pairs that are rotated
//
// Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2 (neighbouring elements form the pairs);
//   halves as in GPT-NeoX, Black et al. 2022, arXiv 2204.06745, section 2.1.
#pragma once

#include <array>

#include "base/text/text.h"
#include "ir/tensor.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// Which elements form pair i of the n pairs: 2i and 2i + 1, or i and n + i. Models that differ in
/// this alone agree after a permutation of their weights.
enum class PairLayout { kNeighbours, kHalves };
constexpr auto texts_of(PairLayout) {
  return std::to_array<EnumText<PairLayout>>(
      {{PairLayout::kNeighbours, "neighbours"}, {PairLayout::kHalves, "halves"}});
}

/// Returns position * frequency, f32 [.., T, P], of positions i32[.., T]. A text is long if one of
/// its positions is: a segment, where these are the tokens of the current call; else a row.
Tensor angles_of(const Tensor& positions, const Frequencies& frequencies);

/// Rotates heads by fixed angles. Sine and cosine are computed in f32 and rounded to the dtype of
/// the heads.
class Rotation {
 public:
  /// angles f32 [T, P] or [B, T, P]. The rotated elements are multiplied by `scale`.
  Rotation(const Tensor& angles, double scale, PairLayout layout, DType dtype);
  /// x_BTNH -> y_BTNH: rotates the first 2P elements of each head, returns the others as they are.
  Tensor operator()(const Tensor& x_BTNH) const;

 private:
  int64_t dim_;  // 2P
  PairLayout layout_;
  // The cosine, [.., T, 1, P, 1] or [.., T, 1, 1, P] by the layout, and the sine with its sign for
  // each element of a pair, [.., T, 1, P, 2] or [.., T, 1, 2, P].
  Tensor cosine_, signed_sine_;
};

}  // namespace axle
