// The tiny models of transformers in testdata, one or more of each family: imported, they are
// trained in all parameters on a task that they do not know.
#include "interop/hugging_face.h"
#include "interop/reference_models_test.h"
#include "testing/test_name.h"
#include "train/learning/learning_tasks_test.h"

namespace axle {
namespace {

class ImportedTwins : public LearningTest, public ::testing::WithParamInterface<std::string> {
 protected:
  static constexpr int kNumSteps = 400;

  // The share of right answers of the last steps, of rows that are drawn for each step.
  double learned(ImportedModel twin) {
    const Learner::Config learner{.optimizer =
                                      AdamW::Config{.learning_rate = falling_rate(kNumSteps)}};
    StepRun run(*runtime_, {.model = std::move(twin.model),
                            .learner = learner,
                            .batch = batch_spec(kTaskRows, kTaskLength)});
    Tree<HostTensor> state = run.initial_state(1);
    for (auto& [path, value] : twin.parameters) state.at("model/" + path) = std::move(value);
    for (auto& [path, value] : twin.layer_state)
      state.at(std::string(kLayerStatePath) + "/" + path) = std::move(value);
    run.set_state(state);
    SplitMix64 random(7);
    double before = 0, after = 0;
    for (int i = 0; i < kNumSteps + kMeasuredSteps; ++i) {
      const double accuracy = run.step(task_batch({LearningTask::kMapping}, random)).at("accuracy");
      if (i == 0) before = accuracy;
      if (i >= kNumSteps) after += accuracy / kMeasuredSteps;
    }
    EXPECT_LT(before, 0.5);
    return after;
  }
};

TEST_P(ImportedTwins, LearnATaskThatTheyDoNotKnow) {
  ImportedModel twin = read_hugging_face(reference_file("hugging_face/" + GetParam()));
  take_texts_of(kTaskLength, twin);
  EXPECT_GE(learned(std::move(twin)), 0.95);
}

INSTANTIATE_TEST_SUITE_P(Models, ImportedTwins, ::testing::ValuesIn(reference_models()),
                         [](const auto& at) { return test_name(at.param); });

}  // namespace
}  // namespace axle
