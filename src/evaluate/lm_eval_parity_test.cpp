// Tasks against lm-evaluation-harness with transformers (tools/oracle/lm_eval_numbers.py).
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "evaluate/evaluate_task.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTolerance = 1e-3;

std::string folder() { return reference_file("lm_eval/"); }

// A metric of lm-eval may be undefined where Axle has none.
void expect_same_metric(const MetricResult& got, const Json& expected) {
  SCOPED_TRACE(got.metric + ", " + got.filter);
  const double value = expected["value"];
  EXPECT_NEAR(got.value, value, kTolerance * std::max(1.0, std::abs(value)));
  ASSERT_EQ(got.standard_error.has_value(), expected["standard_error"].is_number());
  if (!got.standard_error) return;
  const double error = expected["standard_error"];
  EXPECT_NEAR(*got.standard_error, error, kTolerance * std::max(1.0, std::abs(error)));
}

double metric_of(const Json& sample, const std::string& name, const std::string& filter) {
  for (const Json& one : sample["metrics"]) {
    if (one["metric"] == name && (!one.contains("filter") || one["filter"] == filter))
      return one["value"];
  }
  ADD_FAILURE() << "no metric " << name;
  return NAN;
}

void expect_same_sample(const Json& got, const Json& expected) {
  const std::string filter = expected["filter"];
  SCOPED_TRACE(got["document"].get<std::string>() + ", " + filter);
  for (const auto& [name, value] : expected["metrics"].items())
    EXPECT_NEAR(metric_of(got, name, filter), value.get<double>(), kTolerance) << name;
  if (expected.contains("requests")) {
    ASSERT_EQ(got["requests"].size(), expected["requests"].size());
    for (size_t i = 0; i < got["requests"].size(); ++i) {
      const Json &one = got["requests"][i], &other = expected["requests"][i];
      EXPECT_EQ(one["context"], other["context"]);
      EXPECT_EQ(one["continuation"], other["continuation"]);
      EXPECT_NEAR(one["log_likelihood"].get<double>(), other["log_likelihood"].get<double>(),
                  kTolerance);
      EXPECT_EQ(one["is_greedy"], other["is_greedy"]);
    }
  } else if (expected.contains("text")) {
    EXPECT_EQ(got["text"], expected["text"]);
    EXPECT_NEAR(got["log_likelihood"].get<double>(), expected["log_likelihood"].get<double>(),
                kTolerance);
  } else {
    EXPECT_EQ(got["context"], expected["context"]);
    EXPECT_EQ(got["answer"], expected["answer"]);
    EXPECT_EQ(got["filtered"][filter], expected["filtered"]);
  }
}

void expect_same_task(const std::string& name, TaskModel& model, const Json& expected) {
  SCOPED_TRACE(name);
  Task task(read_task_config(folder() + "tasks/" + name + ".yaml"));
  std::vector<Json> samples;
  const auto result =
      evaluate_task(task, model, {}, {}, [&](const Json& sample) { samples.push_back(sample); });
  ASSERT_TRUE(result);
  ASSERT_EQ(result->metrics.size(), expected["metrics"].size());
  for (const MetricResult& metric : result->metrics) {
    const auto is_same = [&](const Json& one) {
      return one["metric"] == metric.metric &&
             (metric.filter.empty() || one["filter"] == metric.filter);
    };
    const auto& all = expected["metrics"];
    const auto found = std::ranges::find_if(all, is_same);
    ASSERT_NE(found, all.end()) << metric.metric;
    expect_same_metric(metric, *found);
  }
  // A document has a sample for each of its filters.
  ASSERT_EQ(expected["samples"].size() % samples.size(), 0u);
  for (size_t i = 0; i < expected["samples"].size(); ++i)
    expect_same_sample(samples[i % samples.size()], expected["samples"][i]);
}

class LmEval : public ::testing::TestWithParam<const char*> {};

TEST_P(LmEval, NumbersMatch) {
  const std::string dir = folder() + GetParam();
  LoadedModel loaded = load_model(dir);
  const auto runtime = make_runtime({.backend = "interpreter"});
  TaskModel model(*loaded.model, *loaded.tokenizer, *runtime,
                  {.context_len = loaded.context_len, .compute_dtype = loaded.compute_dtype});
  model.set_parameters(
      decode_arrays(*loaded.model, loaded.parameters, *runtime, loaded.compute_dtype, {}));
  const Json numbers = read_json(read_file(dir + "/numbers.json"));
  EXPECT_EQ(numbers.size(), 9u);
  for (const auto& [task, expected] : numbers.items()) expect_same_task(task, model, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, LmEval, ::testing::Values("begun", "named", "plain"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace axle
