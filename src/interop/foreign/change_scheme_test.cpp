// Blocks of every type as codes, also in the schemes that hold several types: the numbers are those
// of the blocks, bit for bit (testdata/reference/gguf/blocks.safetensors).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "interop/foreign/coded_parameters.h"
#include "io/gguf/block_type.h"
#include "io/safetensors.h"
#include "layers/products/quantized_product.h"
#include "testing/checkout.h"
#include "transform/trace.h"

namespace axle {
namespace {

constexpr const char* kTypes[] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"};

class ChangeScheme : public ::testing::TestWithParam<const char*> {
 protected:
  const BlockType& type() const { return *find_block_type(std::string_view(GetParam())); }
  CodeScheme scheme() const { return *type().groups.scheme; }
  HostTensor stored(const char* what) const {
    return SafetensorsFile(reference_file("gguf/blocks.safetensors"))
        .get(std::string(GetParam()) + "/" + what);
  }
  // The blocks whose offsets every scheme holds: those of small scales.
  HostTensor blocks() const {
    const HostTensor all = stored("blocks");
    std::vector<uint8_t> out;
    const auto size = static_cast<size_t>(type().num_bytes);
    std::vector<float> values(static_cast<size_t>(type().num_values));
    for (size_t at = 0; at < all.bytes().size(); at += size) {
      type().dequantize(all.bytes().data() + at, 1, values.data());
      const bool is_small = std::ranges::all_of(values, [](float v) { return std::abs(v) < 250; });
      const auto* const begin = reinterpret_cast<const uint8_t*>(all.bytes().data()) + at;
      if (is_small) out.insert(out.end(), begin, begin + size);
    }
    return {{std::ssize(out)}, std::span<const uint8_t>(out)};
  }
  StoredCodes codes(const HostTensor& blocks) const {
    const int64_t n = blocks.size() / type().num_bytes, count = n * type().num_values;
    StoredCodes out{.scheme = scheme(), .parts = {}};
    for (const CodePart& part : parts_of(scheme()))
      out.parts.emplace(part.name, HostTensor(Type{part.dtype, {1, count / part.numbers}}));
    const bool is_small = scheme().scales == ScaleForm::kI8,
               has_offsets = scheme().offsets == OffsetForm::kOwn;
    const auto part = [&](std::string_view name) -> HostTensor& {
      return out.parts.find(name)->second;
    };
    GroupNumbers numbers{.codes = part(kCodes).values<uint8_t>().data(),
                         .scales = part(is_small ? kBlockScales : kScales).values<F16>().data()};
    if (is_small) numbers.small_scales = part(kScales).values<int8_t>().data();
    if (has_offsets)
      numbers.offsets = part(is_small ? kBlockOffsets : kOffsets).values<F16>().data();
    if (has_offsets && is_small) numbers.small_offsets = part(kOffsets).values<int8_t>().data();
    type().groups.read(blocks.bytes().data(), n, numbers);
    return out;
  }
};

HostTensor decoded(const StoredCodes& stored) {
  const CodeForm form{.weight_dims = {stored.parts.find(kCodes)->second.size()},
                      .scheme = stored.scheme};
  std::vector<std::string> names;
  std::vector<HostTensor> parts;
  for (const auto& [name, part] : stored.parts) {
    names.push_back(name);
    parts.push_back(part.reshaped({part.size()}));
  }
  const auto decode = [&](const Values& v) {
    CodedWeight own;
    for (size_t i = 0; i < names.size(); ++i)
      own.emplace(names[i], names[i] == kCodes ? form.pack(v[i]) : v[i]);
    return Values{form.decode(own)};
  };
  return eval(decode, parts)[0];
}

TEST_P(ChangeScheme, KeepsTheNumbers) {
  const HostTensor few = blocks();
  ASSERT_GT(few.size(), 0);
  std::vector<float> values(static_cast<size_t>(few.size() / type().num_bytes * type().num_values));
  type().dequantize(few.bytes().data(), few.size() / type().num_bytes, values.data());
  EXPECT_TRUE(std::ranges::equal(decoded(codes(few)).values<float>(), values));
  for (const char* other : kTypes) {
    SCOPED_TRACE(other);
    const CodeScheme wide =
        joined(scheme(), *find_block_type(std::string_view(other))->groups.scheme);
    EXPECT_TRUE(holds(wide, scheme()));
    const auto changed = in_scheme(codes(few), wide);
    ASSERT_TRUE(changed);
    EXPECT_EQ(changed->scheme, wide);
    EXPECT_TRUE(std::ranges::equal(decoded(*changed).values<float>(), values));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ChangeScheme, ::testing::ValuesIn(kTypes),
                         [](const auto& at) { return std::string(at.param); });

TEST(CodeSchemes, TakeTheMemoryOfTheirBlocks) {
  const auto bits = [](const char* name) {
    return find_block_type(std::string_view(name))->groups.scheme->bits_per_number();
  };
  EXPECT_EQ(bits("Q4_0"), 4.5);
  EXPECT_EQ(bits("Q4_1"), 5);
  EXPECT_EQ(bits("Q5_0"), 5.5);
  EXPECT_EQ(bits("Q5_1"), 6);
  EXPECT_EQ(bits("Q8_0"), 8.5);
  EXPECT_EQ(bits("Q6_K"), 6.5625);
  EXPECT_EQ(bits("Q4_K"), 4.625);  // blocks have scales of 6 bits: 4.5
  EXPECT_EQ(bits("Q5_K"), 5.625);
}

// -128 times a scale of Q8_0 may be too large for f16.
TEST(CodeSchemes, OffsetsBeyondF16AreRefused) {
  const CodeScheme middle{CodeBits::kEight, 2, ScaleForm::kF16, OffsetForm::kMiddle};
  StoredCodes stored{.scheme = middle, .parts = {}};
  stored.parts.emplace(kCodes, HostTensor(Type{DType::kU8, {1, 2}}));
  stored.parts.emplace(kScales, HostTensor::full({1, 1}, 1000, DType::kF16));
  CodeScheme own = middle;
  own.offsets = OffsetForm::kOwn;
  EXPECT_FALSE(in_scheme(stored, own));
  own.scales = ScaleForm::kF32;
  ASSERT_TRUE(in_scheme(stored, own));
  EXPECT_EQ(decoded(*in_scheme(stored, own)), HostTensor::full({2}, -128000));
}

}  // namespace
}  // namespace axle
