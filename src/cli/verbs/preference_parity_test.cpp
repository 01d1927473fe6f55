// `axle train --dpo` against the same training in plain torch (tools/oracle/preference_numbers.py).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"
#include "train/run_result_test.h"

namespace axle {
namespace {

class PreferenceParity : public ::testing::TestWithParam<std::string> {};

TEST_P(PreferenceParity, StepsMatchTorch) {
  const TempDir dir;
  const std::string folder = reference_file("preferences");
  const auto numbers = nlohmann::json::parse(read_file(folder + "/numbers.json"));
  const auto& expected = numbers.at("steps").at(GetParam());
  const Ran ran = run_axle(joined(
      {"train", "--init-from", reference_file("lm_eval/begun"), "--data", folder + "/pairs.jsonl",
       "--dpo", "beta=" + numbers.at("beta").dump() + ",label_smoothing=" + GetParam(), "--steps",
       std::to_string(expected.size()), "--dir", dir / "run", "--backend", "interpreter"},
      set_flags({"input.chat_template=" + folder + "/chat.jinja", "input.seq_len=96",
                 "input.batch_size=6", "input.split=all", "evalers={}", "log_every_steps=1",
                 "learner.optimizer.learning_rate=" + numbers.at("learning_rate").dump()})));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto records = records_of(dir / "run");
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) {
    for (const auto& [name, value] : expected[i].items()) {
      const auto number = value.get<double>();
      EXPECT_NEAR(records[i].at(name).get<double>(), number, 2e-4 * (1 + std::abs(number)))
          << name << " of step " << i + 1;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LabelSmoothing, PreferenceParity, ::testing::Values("0.0", "0.1"),
                         [](const auto& at) { return at.param == "0.0" ? "None" : "Some"; });

}  // namespace
}  // namespace axle
