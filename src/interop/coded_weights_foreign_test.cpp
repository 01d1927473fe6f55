// Real GGUF files as codes: each number is the one of the file.
#include <gtest/gtest.h>

#include <algorithm>

#include "interop/coded_weights.h"
#include "interop/gguf_model.h"
#include "layers/products/quantized_product.h"
#include "modifiers/products/quantize_products.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class CodedForeign : public ForeignDataTest {
 protected:
  static void expect_numbers_of(const std::string& path, const QuantizedProduct::Config& product) {
    const ImportedModel plain = read_gguf(path);
    Child<Model> config = plain.model;
    apply_modifier(QuantizeProducts::Config{.with = product}, "modify[0]", config);
    const auto model = config.build({}, Scope{.path = "model"});
    ModelParameters coded = load_initial_parameters(path, *model, [](const std::string&) {});
    EXPECT_GE(coded.num_coded, 7);
    EXPECT_EQ(coded.num_rounded, 0);
    for (const QuantizedProduct* own : quantized_products(*model)) {
      own->decode_in(coded.by_path);
      const std::string name = own->weight_path();
      const std::span<const float> numbers = coded.by_path.at(name).values<float>(),
                                   expected = plain.parameters.at(name.substr(6))
                                                  .values<float>();  // "model/"
      // Zeros may have another sign.
      EXPECT_TRUE(std::ranges::equal(numbers, expected)) << name;
      coded.by_path.erase(name);
    }
  }
};

TEST_F(CodedForeign, BlocksOfFourBits) {
  constexpr const char* kFile = "gguf/smollm2-135m-instruct-q4_1.gguf";
  AXLE_NEEDS_FILES(kFile);
  expect_numbers_of(file(kFile), {});
}

TEST_F(CodedForeign, BlocksOfSeveralTypes) {
  constexpr const char* kFile = "gguf/gemma-3-270m-q4_k_m.gguf";
  AXLE_NEEDS_FILES(kFile);
  expect_numbers_of(file(kFile),
                    {.bits = CodeBits::kEight, .group = 16, .scales = ScaleDType::kF32});
}

}  // namespace
}  // namespace axle
