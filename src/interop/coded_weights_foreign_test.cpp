// Real GGUF files as codes: each number is the one of the file, and they take the file's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "interop/forms/plain_model.h"
#include "interop/hugging_face.h"
#include "layers/products/quantized_product.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class CodedForeign : public ForeignDataTest {
 protected:
  static void expect_numbers_of(const std::string& path) {
    const ImportedModel plain = read_gguf(path);
    Child<Model> config = plain.model;
    apply_modifier(KeepAsCodes::Config{.from = path}, "modify[0]", config);
    const auto model = config.build({}, Scope{.path = "model"});
    ModelParameters coded = load_initial_parameters(path, *model, [](const std::string&) {});
    EXPECT_GE(coded.num_coded, 8);  // the projections, and the table
    EXPECT_EQ(coded.num_rounded, 0);
    double bytes = 0;
    for (const auto& [name, value] : coded.by_path) bytes += double(value.bytes().size());
    EXPECT_LT(bytes, 1.02 * double(std::filesystem::file_size(path)));
    for (const QuantizedProduct* own : quantized_products(*model)) {
      own->decode_in(coded.by_path);
      const std::string name = own->weight_path();
      // As numbers: where a block's scale is negative, the file's zeros are, too.
      const HostTensor &own_values = coded.by_path.at(name),
                       &expected = plain.parameters.at(name.substr(6));  // "model/"
      EXPECT_TRUE(std::ranges::equal(own_values.values<float>(), expected.values<float>())) << name;
      coded.by_path.erase(name);
    }
  }
};

TEST_F(CodedForeign, BlocksOfFourBits) {
  constexpr const char* kFile = "gguf/smollm2-135m-instruct-q4_1.gguf";
  AXLE_NEEDS_FILES(kFile);
  expect_numbers_of(file(kFile));
}

TEST_F(CodedForeign, BlocksOfSeveralTypes) {
  constexpr const char* kFile = "gguf/gemma-3-270m-q4_k_m.gguf";
  AXLE_NEEDS_FILES(kFile);
  expect_numbers_of(file(kFile));
}

}  // namespace
}  // namespace axle
