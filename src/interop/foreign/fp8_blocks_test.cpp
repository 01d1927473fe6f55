#include <gmock/gmock.h>

#include "base/error.h"
#include "interop/foreign/safetensors_folder.h"
#include "io/safetensors.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ForeignConfig config(const char* quantization) {
  return ForeignConfig(
      nlohmann::ordered_json{{"quantization_config", nlohmann::ordered_json::parse(quantization)}},
      "config.json");
}

// A folder with a matrix of 3 x 5 numbers in blocks of 2 x 3.
class Fp8Folder : public ::testing::Test {
 protected:
  HostTensor read(const std::string& name) {
    save_safetensors(dir_ / "model.safetensors", tensors_);
    const SafetensorsFolder stored(dir_.path());
    return Fp8Blocks(stored, {2, 3}).get(name);
  }

  TempDir dir_;
  Tree<HostTensor> tensors_ = {
      {"x", HostTensor::full({3, 5}, 1.5, DType::kF8E4M3FN)},
      {"x_scale_inv", HostTensor({2, 2}, {1.f, 2.f, 4.f, 0.1f})},
      {"plain", HostTensor::ones({2}, DType::kBF16)},
      {"plain_scale_inv", HostTensor::ones({2})},  // a name like any other
  };
};

TEST_F(Fp8Folder, NumbersAreScaledByTheirBlock) {
  const float last = 1.5f * 0.1f;
  EXPECT_EQ(read("x"), HostTensor({3, 5}, {1.5f, 1.5f, 1.5f, 3.f, 3.f,  //
                                           1.5f, 1.5f, 1.5f, 3.f, 3.f,  //
                                           6.f, 6.f, 6.f, last, last}));
  EXPECT_EQ(read("plain"), tensors_.at("plain"));
}

TEST_F(Fp8Folder, ScalesMayHaveFewerBits) {
  tensors_.at("x_scale_inv") = tensors_.at("x_scale_inv").astype(DType::kBF16);
  EXPECT_EQ(read("x").at(3), 3);
}

TEST_F(Fp8Folder, ScalesAreNotListedAsTensors) {
  save_safetensors(dir_ / "model.safetensors", tensors_);
  const SafetensorsFolder stored(dir_.path());
  const Fp8Blocks source(stored, {2, 3});
  EXPECT_THAT(source.names(), ElementsAre("plain", "plain_scale_inv", "x"));
  EXPECT_EQ(source.type("x"), (Type{DType::kF32, {3, 5}}));
  EXPECT_EQ(source.type("plain"), (Type{DType::kBF16, {2}}));
}

TEST_F(Fp8Folder, ScalesThatDoNotFitAreRefused) {
  const auto error = [&] { return error_of<DataError>([&] { read("x"); }); };
  tensors_.at("x_scale_inv") = HostTensor::ones({2, 1});
  EXPECT_THAT(error(), HasSubstr("x_scale_inv: expected floats of shape [2, 2], got f32[2, 1]"));
  tensors_.at("x_scale_inv") = HostTensor::zeros({2, 2}, DType::kI32);
  EXPECT_THAT(error(), HasSubstr("x_scale_inv: expected floats of shape [2, 2], got i32[2, 2]"));
  tensors_.erase("x_scale_inv");
  EXPECT_THAT(error(), HasSubstr("expected a tensor x_scale_inv, got none"));
  tensors_.at("x") = HostTensor::ones({4}, DType::kF8E4M3FN);
  EXPECT_THAT(error(), HasSubstr("x: expected a matrix in f8, got shape [4]"));
}

TEST(Fp8Form, FollowsTheConfig) {
  const auto form = fp8_form_of(config(
      R"({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 64]})"));
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->rows, 128);
  EXPECT_EQ(form->columns, 64);
  EXPECT_FALSE(fp8_form_of(config("null")).has_value());
}

TEST(Fp8Form, OtherQuantizationMethodsAreRefused) {
  const auto error = [](const char* text) {
    return error_of<DataError>([&] { fp8_form_of(config(text)); });
  };
  EXPECT_THAT(error(R"({"quant_method": "gptq", "bits": 4})"),
              HasSubstr(R"(quantization_config.quant_method: expected "fp8"; weights of other)"));
  EXPECT_THAT(error(R"({"quant_method": "fp8", "fmt": "e5m2"})"), HasSubstr("expected \"e4m3\""));
  for (const char* size : {"null", "[128]", "[128, 0]", "[128, 1.5]", "[128, 1e30]", "\"x\""}) {
    EXPECT_THAT(
        error(
            (R"({"quant_method": "fp8", "weight_block_size": )" + std::string(size) + "}").c_str()),
        HasSubstr("quantization_config.weight_block_size: expected"))
        << size;
  }
}

}  // namespace
}  // namespace axle
