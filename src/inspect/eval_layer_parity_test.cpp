// eval-layer on another framework's numbers, by the files that a user would write:
// testdata/eval_layer/<case>.yaml, and <case>.names where its parameters are called otherwise.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "inspect/eval_layer.h"
#include "inspect/eval_layer_files.h"
#include "io/safetensors.h"
#include "testing/checkout.h"

namespace axle {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest element
constexpr double kCancelled = 1e-4;
const std::string kFiles = source_file("testdata/eval_layer/").string();
const std::string kNumbers = reference_file("axlearn/numeric/");

struct Case {
  std::string name, fixture;
  EvalLayerOptions options;
};

double largest_in(const HostTensor& tensor) {
  double out = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) out = std::max(out, std::abs(tensor.at(i)));
  return out;
}

// Some gradients cancel to nothing but rounding: those are measured by the largest of all.
double scale_of(const HostTensor& expected, double largest_gradient) {
  const double own = largest_in(expected);
  return own < kCancelled * largest_gradient ? largest_gradient : own;
}

void expect_close(const std::string& name, const HostTensor& got, const HostTensor& expected,
                  double scale) {
  ASSERT_EQ(got.type(), expected.type()) << name;
  double difference = 0;
  for (int64_t i = 0; i < expected.size(); ++i)
    difference = std::max(difference, std::abs(expected.at(i) - got.at(i)));
  EXPECT_LE(difference, kTolerance * scale) << name;
}

class EvalLayerParity : public testing::TestWithParam<Case> {};

TEST_P(EvalLayerParity, OutputsAndGradients) {
  const auto& [name, fixture, options] = GetParam();
  const std::string numbers = kNumbers + fixture + ".safetensors";
  const std::string names = kFiles + name + ".names";
  const RenameRules rules =
      std::filesystem::exists(names) ? RenameRules(read_user_file(names), names) : RenameRules();
  const auto layer = build_layer(parse_layer_file(read_user_file(kFiles + name + ".yaml"), name));
  const EvalLayerFiles files = read_eval_layer_files(numbers, numbers, rules);
  const auto runtime = make_runtime({.backend = "interpreter"});
  const Tree<HostTensor> results =
      files.with_their_names(eval_layer(*layer, files.params, files.inputs, options, *runtime));

  const Tree<HostTensor> reference = load_safetensors(numbers);
  double largest_gradient = 0;
  for (const auto& [key, expected] : reference) {
    if (key.starts_with("grad/"))
      largest_gradient = std::max(largest_gradient, largest_in(expected));
  }
  int compared = 0;
  for (const auto& [key, expected] : reference) {
    const bool is_result = key == "out" || key.starts_with("grad/") ||
                           (options.init_seed && key.starts_with("init_params/"));
    if (!is_result) continue;
    ASSERT_TRUE(results.contains(key)) << key;
    expect_close(key, results.at(key), expected,
                 scale_of(expected, key.starts_with("grad/") ? largest_gradient : 0));
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, EvalLayerParity,
    testing::Values(
        Case{"linear", "layers/linear", {.init_seed = 0, .grad = true}},
        Case{"embedding_attend",
             "layers/embedding_attend",
             {.method = "attend", .init_seed = 0, .grad = true}},
        Case{"dropout", "layers/dropout", {.call_key = 2, .training = true, .grad = true}},
        Case{"gqa_causal", "attention/gqa_causal", {.grad = true}},
        Case{"transformer_layer", "blocks/transformer_layer", {.grad = true}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace axle
