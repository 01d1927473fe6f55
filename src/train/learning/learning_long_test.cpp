// Every mixer learns small tasks to their known answers.
#include "testing/test_name.h"
#include "train/learning/learning_tasks_test.h"

namespace axle {
namespace {

std::vector<std::string> case_names() {
  std::vector<std::string> out;
  for (const LearningCase& c : learning_cases()) out.push_back(c.name);
  return out;
}

class LearningTasks : public LearningTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(LearningTasks, AreLearned) { expect_learned(learning_case(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Mixers, LearningTasks, ::testing::ValuesIn(case_names()), kNamedByText);

}  // namespace
}  // namespace axle
