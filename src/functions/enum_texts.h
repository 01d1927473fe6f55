// The texts of the enums that public tensor functions take.
#pragma once

#include <vector>

#include "base/text/enum_text.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/gather.h"
#include "ops/movement/scatter.h"
#include "ops/movement/search.h"
#include "ops/movement/sort.h"
#include "ops/products/dot.h"
#include "ops/random/random.h"
#include "ops/reductions/quantile.h"
#include "ops/windows/pool.h"
#include "ops/windows/select_and_scatter.h"
#include "ops/windows/window.h"
#include "transform/linalg/norm.h"

namespace axle {

constexpr auto texts_of(StopValue) {
  return std::to_array<EnumText<StopValue>>(
      {{StopValue::kInclusive, "inclusive"}, {StopValue::kExclusive, "exclusive"}});
}
constexpr auto texts_of(Memory) {
  return std::to_array<EnumText<Memory>>({{Memory::kDevice, "device"}, {Memory::kHost, "host"}});
}
constexpr auto texts_of(GridOrder) {
  return std::to_array<EnumText<GridOrder>>(
      {{GridOrder::kCartesian, "cartesian"}, {GridOrder::kMatrix, "matrix"}});
}
constexpr auto texts_of(GatherMode) {
  return std::to_array<EnumText<GatherMode>>({{GatherMode::kClip, "clip"},
                                              {GatherMode::kFill, "fill"},
                                              {GatherMode::kPromiseInBounds, "promise_in_bounds"}});
}
constexpr auto texts_of(ScatterMode) {
  return std::to_array<EnumText<ScatterMode>>(
      {{ScatterMode::kDrop, "drop"},
       {ScatterMode::kClip, "clip"},
       {ScatterMode::kPromiseInBounds, "promise_in_bounds"}});
}
constexpr auto texts_of(SearchSide) {
  return std::to_array<EnumText<SearchSide>>(
      {{SearchSide::kLeft, "left"}, {SearchSide::kRight, "right"}});
}
constexpr auto texts_of(SortOrder) {
  return std::to_array<EnumText<SortOrder>>(
      {{SortOrder::kAscending, "ascending"}, {SortOrder::kDescending, "descending"}});
}
constexpr auto texts_of(Precision) {
  return std::to_array<EnumText<Precision>>({{Precision::kDefault, "default"},
                                             {Precision::kHigh, "high"},
                                             {Precision::kHighest, "highest"}});
}
/// "default", and JAX's names.
inline std::vector<EnumText<DotAlgorithm>> texts_of(DotAlgorithm) {
  std::vector<EnumText<DotAlgorithm>> out = {{DotAlgorithm::kDefault, "default"}};
  for (auto a = static_cast<int>(DotAlgorithm::kDefault) + 1;
       a <= static_cast<int>(DotAlgorithm::kI8I8I32Backward); ++a)
    out.push_back({static_cast<DotAlgorithm>(a), name_of(static_cast<DotAlgorithm>(a))});
  return out;
}
constexpr auto texts_of(PaddingRule) {
  return std::to_array<EnumText<PaddingRule>>(
      {{PaddingRule::kValid, "valid"}, {PaddingRule::kSame, "same"}});
}
constexpr auto texts_of(PoolCount) {
  return std::to_array<EnumText<PoolCount>>(
      {{PoolCount::kWindow, "window"}, {PoolCount::kWithoutPadding, "without_padding"}});
}
constexpr auto texts_of(WindowSelect) {
  return std::to_array<EnumText<WindowSelect>>(
      {{WindowSelect::kLargest, "largest"}, {WindowSelect::kLeast, "least"}});
}
constexpr auto texts_of(QuantileMethod) {
  return std::to_array<EnumText<QuantileMethod>>({{QuantileMethod::kLinear, "linear"},
                                                  {QuantileMethod::kLower, "lower"},
                                                  {QuantileMethod::kHigher, "higher"},
                                                  {QuantileMethod::kMidpoint, "midpoint"},
                                                  {QuantileMethod::kNearest, "nearest"},
                                                  {QuantileMethod::kInvertedCdf, "inverted_cdf"}});
}
constexpr auto texts_of(MatrixNorm) {
  return std::to_array<EnumText<MatrixNorm>>({{MatrixNorm::kFrobenius, "frobenius"},
                                              {MatrixNorm::kOne, "one"},
                                              {MatrixNorm::kInfinity, "infinity"},
                                              {MatrixNorm::kTwo, "two"}});
}

namespace random {
constexpr auto texts_of(ThreefryMode) {
  return std::to_array<EnumText<ThreefryMode>>(
      {{ThreefryMode::kPartitionable, "partitionable"}, {ThreefryMode::kOriginal, "original"}});
}
constexpr auto texts_of(Replacement) {
  return std::to_array<EnumText<Replacement>>(
      {{Replacement::kWith, "with"}, {Replacement::kWithout, "without"}});
}
}  // namespace random

}  // namespace axle
