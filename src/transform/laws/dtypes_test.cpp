// Law: the samples of a row run in all dtypes of the kind of their operands, but for those that the
// row refuses. A row can't drop out of the laws over dtypes unseen.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "testing/sample_dtypes.h"

namespace axle {
namespace {

using Dtypes = std::set<DType>;

// Returns all dtypes of the kind of `dtype`, without some.
Dtypes like_without(DType dtype, const Dtypes& without) {
  Dtypes out;
  for (const DType d : testing::dtypes_like(dtype)) {
    if (!without.contains(d)) out.insert(d);
  }
  return out;
}

std::string text(const Dtypes& dtypes) {
  std::string out;
  for (const DType d : dtypes) out += (out.empty() ? "" : " ") + to_text(d);
  return out;
}

// The dtypes of the kinds of its operands that a row refuses.
const std::map<std::string_view, Dtypes>& refused_dtypes() {
  const Dtypes small = like_without(DType::kF32, {DType::kF32, DType::kF64});
  const Dtypes four_bits = {DType::kI4, DType::kU4};
  const Dtypes all_but_i32 = like_without(DType::kI32, {DType::kI32});
  const Dtypes all_but_u32 = like_without(DType::kU32, {DType::kU32});
  static const std::map<std::string_view, Dtypes> all = {
      {"complex", small},
      {"fft", small},
      {"cholesky", small},
      {"triangular_solve", small},
      {"qr", small},
      {"eigh", small},
      {"nextafter", {DType::kF8E4M3FN, DType::kF8E5M2}},
      {"softmax_cross_entropy", four_bits},
      {"ragged_dot", all_but_i32},  // the sizes of the groups
      {"ragged_dot_contracting", all_but_i32},
      {"threefry2x32", all_but_u32},
      {"rng_bit_generator", all_but_u32},
  };
  return all;
}

TEST(DtypesLaw, RowsTakeTheDtypesOfTheKindsOfTheirOperandsButForThese) {
  std::map<std::string_view, Dtypes> computed, refused;
  for (const testing::OpSample& sample : testing::op_samples()) {
    for (int d = 0; d <= static_cast<int>(DType::kC128); ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!testing::has_kind(sample, dtype)) continue;
      (testing::in_dtype(sample, dtype) ? computed : refused)[sample.op].insert(dtype);
    }
  }
  for (const auto& [row, dtypes] : computed) {
    for (const DType d : dtypes) refused[row].erase(d);
  }
  std::erase_if(refused, [](const auto& row) { return row.second.empty(); });
  for (const auto& [row, dtypes] : refused) {
    const auto expected = refused_dtypes().find(row);
    EXPECT_EQ(text(dtypes), expected == refused_dtypes().end() ? "" : text(expected->second))
        << row;
  }
  for (const auto& [row, dtypes] : refused_dtypes())
    EXPECT_TRUE(refused.contains(row)) << row << " refuses none of " << text(dtypes);
}

}  // namespace
}  // namespace axle
