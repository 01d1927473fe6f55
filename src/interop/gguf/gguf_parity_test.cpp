// The tiny models as GGUF files against the folders of Hugging Face that they are made from
// (tools/oracle/gguf_models.py), which families_parity_test.cpp compares with transformers.
#include <gtest/gtest.h>

#include <algorithm>

#include "interop/hugging_face.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/layer_call.h"
#include "testing/test_name.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> models() {
  std::vector<std::string> out;
  for (const fs::path& file : list_directory(reference_file("gguf/models")))
    out.push_back(file.stem().string());
  std::ranges::sort(out);
  return out;
}

// Expects values that differ by no more than 1e-5 of the largest.
void expect_close(const HostTensor& own, const HostTensor& reference, const std::string& what) {
  ASSERT_EQ(own.type(), reference.type()) << what;
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < own.size(); ++i) {
    largest = std::max(largest, std::abs(reference.at(i)));
    worst = std::max(worst, std::abs(own.at(i) - reference.at(i)));
  }
  EXPECT_LE(worst, 1e-5 * largest) << what << ", largest " << largest;
}

class GgufParity : public ::testing::TestWithParam<std::string> {
 protected:
  HostTensor logits(const ImportedModel& imported) const {
    const auto model = imported.model.build({}, Scope{.path = "model"});
    Tree<HostTensor> parameters;
    put_subtree(parameters, "model", imported.parameters);
    return testing::call_layer(*model, parameters, {{"batch/input_ids", numbers_.at("ids")}},
                               {.method = "logits"})
        .outputs[0];
  }
  const fs::path folder_ = reference_file("hugging_face/" + GetParam());
  const Tree<HostTensor> numbers_ = load_safetensors(folder_ / "numbers.safetensors");
  const ImportedModel reference_ = read_hugging_face(folder_),
                      own_ = read_gguf(reference_file("gguf/models/" + GetParam() + ".gguf"));
};

TEST_P(GgufParity, ParametersMatchTheFolder) {
  ASSERT_EQ(own_.parameters.size(), reference_.parameters.size());
  for (const auto& [path, value] : own_.parameters)
    expect_close(value, reference_.parameters.at(path), path);
  EXPECT_EQ(own_.vocab_size, reference_.vocab_size);
  EXPECT_EQ(own_.max_seq_len, reference_.max_seq_len);
}

TEST_P(GgufParity, LogitsMatchTheFolder) {
  expect_close(logits(own_), logits(reference_), "logits");
}

INSTANTIATE_TEST_SUITE_P(Models, GgufParity, ::testing::ValuesIn(models()),
                         [](const auto& at) { return test_name(at.param); });

}  // namespace
}  // namespace axle
