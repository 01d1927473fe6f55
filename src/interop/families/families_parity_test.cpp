// Compares imported models with transformers: tools/oracle/hugging_face_models.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config/set.h"
#include "interop/families/family.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/hugging_face.h"
#include "interop/reference_models_test.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/layer_call.h"
#include "testing/test_name.h"
#include "transform/grad.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Expects values that differ by no more than 1e-4 of the largest.
void expect_close(const HostTensor& own, const HostTensor& reference, const std::string& what) {
  ASSERT_EQ(own.shape(), reference.shape()) << what;
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < own.size(); ++i) {
    largest = std::max(largest, std::abs(reference.at(i)));
    worst = std::max(worst, std::abs(own.at(i) - reference.at(i)));
  }
  EXPECT_LE(worst, 1e-4 * std::max(largest, 1e-3)) << what << ", largest " << largest;
}

class FamiliesParity : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = reference_file("hugging_face/" + GetParam());
    numbers_ = load_safetensors(folder_ / "numbers.safetensors");
    imported_ = read_hugging_face(folder_);
    take_texts_of(numbers_.at("ids").shape()[1] + numbers_.at("greedy").shape()[1], imported_);
    model_ = imported_.model.build({}, Scope{.path = "model"});
    put_subtree(parameters_, "model", imported_.parameters);
  }
  HostTensor logits(const HostTensor& ids) {
    return testing::call_layer(*model_, parameters_, {{"batch/input_ids", ids}},
                               {.method = "logits", .state = imported_.layer_state})
        .outputs[0];
  }

  fs::path folder_;
  Tree<HostTensor> numbers_, parameters_;
  ImportedModel imported_;
  std::unique_ptr<Model> model_;
};

TEST_P(FamiliesParity, Logits) {
  expect_close(logits(numbers_.at("ids")), numbers_.at("logits"), "logits");
}

TEST_P(FamiliesParity, LossAndAllGradients) {
  const HostTensor& ids = numbers_.at("ids");
  HostTensor labels = ids;
  const int64_t length = ids.shape()[1];
  for (int64_t i = 0; i < ids.size(); ++i) {
    labels.values<int32_t>()[i] =
        i % length == length - 1 ? -1 : static_cast<int32_t>(ids.at(i + 1));
  }
  const testing::LayerFunction function(*model_, parameters_,
                                        {{"batch/input_ids", ids}, {"batch/target_labels", labels}},
                                        {.training = true, .state = imported_.layer_state});
  const std::vector<HostTensor> out = eval(
      [&](const Values& x) {
        auto [outputs, gradients] =
            value_and_grad([&](const Values& y) { return Values{function(y)[0]}; }, x);
        outputs.insert(outputs.end(), gradients.begin(),
                       gradients.begin() + static_cast<std::ptrdiff_t>(parameters_.size()));
        return outputs;
      },
      function.arguments());
  EXPECT_NEAR(out[0].at(0), numbers_.at("loss").at(0), 1e-4);
  const SafetensorsFolder gradients(folder_ / "gradients");
  ForeignConfig config(nlohmann::ordered_json::parse(read_file(folder_ / "config.json")), "config");
  const std::vector<WeightRow> rows = family_of(config).weights(config);
  Tree<HostTensor> expected = WeightMap(rows, stored_tensors(*model_, rows)).read(gradients);
  take_layer_state(*model_, expected);
  ASSERT_EQ(expected.size(), parameters_.size());
  size_t i = 0;
  for (const auto& [path, value] : parameters_)
    expect_close(out[++i], expected.at(path.substr(std::string("model/").size())), path);
}

TEST_P(FamiliesParity, GreedyTokens) {
  HostTensor text = numbers_.at("ids");
  const HostTensor& expected = numbers_.at("greedy");
  const int64_t rows = text.shape()[0], added = expected.shape()[1];
  for (int64_t step = 0; step < added; ++step) {
    const HostTensor scores = logits(text);
    const int64_t length = text.shape()[1], vocab = scores.shape()[2];
    HostTensor longer(Type{DType::kI32, {rows, length + 1}});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t t = 0; t < length; ++t)
        longer.values<int32_t>()[r * (length + 1) + t] =
            static_cast<int32_t>(text.at(r * length + t));
      int64_t best = 0;
      const int64_t last = (r * length + length - 1) * vocab;
      for (int64_t v = 1; v < vocab; ++v)
        if (scores.at(last + v) > scores.at(last + best)) best = v;
      longer.values<int32_t>()[r * (length + 1) + length] = static_cast<int32_t>(best);
      EXPECT_EQ(best, expected.at(r * added + step)) << "row " << r << ", token " << step;
    }
    text = std::move(longer);
  }
}

constexpr auto kNamedByModel = [](const auto& info) { return test_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Models, FamiliesParity, ::testing::ValuesIn(reference_models()),
                         kNamedByModel);

}  // namespace
}  // namespace axle
