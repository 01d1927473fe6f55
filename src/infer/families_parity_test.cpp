// Imported models decode with their caches what transformers generates:
// tools/oracle/hugging_face_models.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "interop/reference_models_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "runtime/interpreter_runtime.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/test_name.h"

namespace axle {
namespace {

// Returns row r of a matrix of ids.
TokenIds row_of(const HostTensor& ids, int64_t r) {
  TokenIds out;
  for (int64_t i = 0; i < ids.shape()[1]; ++i)
    out.push_back(static_cast<int32_t>(ids.at(r * ids.shape()[1] + i)));
  return out;
}

class DecodedFamilies : public ::testing::TestWithParam<std::string> {};

TEST_P(DecodedFamilies, GreedyTokensMatchTransformers) {
  const std::filesystem::path folder = reference_file("hugging_face/" + GetParam());
  const Tree<HostTensor> numbers = load_safetensors(folder / "numbers.safetensors");
  const HostTensor &prompts = numbers.at("ids"), &expected = numbers.at("greedy");
  const LoadedModel model = load_model(folder, Weights::kTrained, report_to_stderr, RunData::kAny);
  InterpreterRuntime runtime(1);
  Generator generator(*model.model, model.parameters, runtime,
                      {.context_len = model.context_len, .compute_dtype = DType::kF32});
  std::vector<TokenIds> given;
  for (int64_t r = 0; r < prompts.shape()[0]; ++r) given.push_back(row_of(prompts, r));
  if (model.context_len &&
      prompts.shape()[1] > *model.context_len) {  // their logits are compared, but not decoded
    EXPECT_THAT(error_of<Error>([&] { generator.generate(given, {.max_tokens = 1}); }),
                ::testing::HasSubstr("expected fewer tokens than the model's context of 8"));
    return;
  }
  const Generated out = generator.generate(given, {.max_tokens = expected.shape()[1]});
  ASSERT_GT(expected.shape()[1], 1);
  for (size_t r = 0; r < given.size(); ++r)
    EXPECT_EQ(out.rows[r].tokens, row_of(expected, static_cast<int64_t>(r))) << "row " << r;
}

INSTANTIATE_TEST_SUITE_P(Models, DecodedFamilies, ::testing::ValuesIn(reference_models()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace axle
