// Blocks against the Python package gguf, bit for bit (tools/oracle/gguf_numbers.py).
#include "io/gguf/block_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "io/safetensors.h"
#include "ir/dtype.h"
#include "testing/checkout.h"

namespace axle {
namespace {

class BlockNumbers : public ::testing::TestWithParam<const char*> {
 protected:
  HostTensor stored(const std::string& what) const {
    return file_.get(std::string(GetParam()) + "/" + what);
  }
  const BlockType& type() const { return *find_block_type(std::string_view(GetParam())); }

 private:
  SafetensorsFile file_{reference_file("gguf/blocks.safetensors")};
};

class Dequantize : public BlockNumbers {};
class Quantize : public BlockNumbers {};
class Groups : public BlockNumbers {};

TEST_P(Dequantize, MatchesThePackage) {
  const HostTensor blocks = stored("blocks"), expected = stored("values");
  const int64_t n = blocks.size() / type().num_bytes;
  ASSERT_EQ(n * type().num_values, expected.size());
  HostTensor values(expected.type());
  type().dequantize(blocks.bytes().data(), n, values.values<float>().data());
  EXPECT_TRUE(std::ranges::equal(values.bytes(), expected.bytes())) << values.text(32) << "\n"
                                                                    << expected.text(32);
}

TEST_P(Quantize, MatchesThePackage) {
  const HostTensor values = stored("stored_values"), expected = stored("stored_blocks");
  const int64_t n = values.size() / type().num_values;
  ASSERT_EQ(n * type().num_bytes, expected.size());
  HostTensor blocks(expected.type());
  type().quantize(values.values<float>().data(), n, blocks.bytes().data());
  EXPECT_EQ(blocks.text(1000), expected.text(1000));
  EXPECT_EQ(blocks, expected);
}

// Each value is made of the numbers of its group, bit for bit, with a code of the stated bits.
TEST_P(Groups, ReproduceTheValues) {
  ASSERT_TRUE(type().groups.scheme);
  const CodeScheme scheme = *type().groups.scheme;
  const bool is_small = scheme.scales == ScaleForm::kI8,
             has_offsets = scheme.offsets == OffsetForm::kOwn;
  const HostTensor blocks = stored("blocks"), values = stored("values");
  const int64_t n = blocks.size() / type().num_bytes;
  const auto count = static_cast<size_t>(values.size()), groups = count / size_t(scheme.group),
             shared = is_small ? count / kScaleBlock : groups;
  std::vector<uint8_t> codes(count);
  std::vector<F16> scales(shared), offsets(has_offsets ? shared : 0);
  std::vector<int8_t> small_scales(is_small ? groups : 0),
      small_offsets(is_small && has_offsets ? groups : 0);
  type().groups.read(blocks.bytes().data(), n,
                     {.codes = codes.data(),
                      .scales = scales.data(),
                      .offsets = offsets.data(),
                      .small_scales = small_scales.data(),
                      .small_offsets = small_offsets.data()});
  const auto number = [&](const std::vector<F16>& of, const std::vector<int8_t>& small, size_t i) {
    const size_t group = i / size_t(scheme.group);
    return is_small ? float(of[i / kScaleBlock]) * float(small[group]) : float(of[group]);
  };
  for (size_t i = 0; i < count; ++i) {
    const float code = static_cast<float>(codes[i]) - static_cast<float>(scheme.zero());
    const float offset = has_offsets ? number(offsets, small_offsets, i) : 0;
    ASSERT_EQ(number(scales, small_scales, i) * code + offset, values.values<float>()[i]) << i;
  }
  const int64_t largest = *std::ranges::max_element(codes);
  EXPECT_LT(largest, int64_t{1} << scheme.num_bits());
  EXPECT_GE(largest, int64_t{1} << (scheme.num_bits() - 1));
}

INSTANTIATE_TEST_SUITE_P(Types, Groups,
                         ::testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K",
                                           "Q6_K"),
                         [](const auto& at) { return std::string(at.param); });
INSTANTIATE_TEST_SUITE_P(Types, Dequantize,
                         ::testing::Values("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
                                           "Q8_0", "Q4_K", "Q5_K", "Q6_K"),
                         [](const auto& at) { return std::string(at.param); });
INSTANTIATE_TEST_SUITE_P(Types, Quantize, ::testing::Values("F32", "F16", "BF16", "Q8_0"),
                         [](const auto& at) { return std::string(at.param); });

TEST(BlockTypes, EachHasItsOwnNumberAndName) {
  std::set<uint32_t> ids;
  std::set<std::string_view> names;
  for (const BlockType& type : all_block_types()) {
    EXPECT_TRUE(ids.insert(type.id).second && names.insert(type.name).second) << type.name;
    EXPECT_EQ(find_block_type(type.id), &type);
    EXPECT_EQ(type.dtype.has_value(), type.num_values == 1) << type.name;
    if (type.dtype) {
      EXPECT_EQ(type.num_bytes, static_cast<int64_t>(size_bytes(*type.dtype))) << type.name;
      EXPECT_NE(type.dequantize, nullptr) << type.name;
    }
  }
  EXPECT_EQ(find_block_type(4), nullptr);
  EXPECT_EQ(find_block_type("F33"), nullptr);
  EXPECT_EQ(writable_block_types(), "F32, F16, Q8_0, BF16");
}

TEST(BlockTypes, TheLargestValueOfQ8ComesBackFinite) {
  const std::vector<float> values(32, -kMaxQ8Value);
  std::byte block[34];
  q8_0_blocks(values.data(), 1, block);
  float out[32];
  q8_0_values(block, 1, out);
  EXPECT_EQ(out[31], -kMaxQ8Value);
}

}  // namespace
}  // namespace axle
