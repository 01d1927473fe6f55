// Runs that distil a teacher: where its parameters come from, and what becomes of them.
#include <gmock/gmock.h>

#include "data/text_input.h"
#include "infer/decode_programs.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "layers/models/beside_frozen.h"
#include "layers/models/causal_lm.h"
#include "learn/optimizers/sgd.h"
#include "pjrt/pjrt_runtime.h"
#include "train/step_run_test.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTeacher = "state/model/teacher/decoder/emb/weight";

Child<Model> small_model() {
  return CausalLM::Config{
      .decoder = Decoder::Config{
          .model_dim = 8,
          .vocab_size = 32,
          .layers = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{8}}}}};
}
Distillation::Config distillation() {
  return {.student = small_model(), .teacher = tiny_model(tiny_stack()), .temperature = 2};
}
Trainer::Config distilling_config(int64_t steps) {
  Trainer::Config config = config_of(steps);
  config.model = distillation();
  config.learner.get_if<Learner>()->ema = ParamEma{};
  return config;
}

class DistillationRun : public TrainerTest {
 protected:
  Ended distil(const Trainer::Config& config, const std::map<std::string, std::string>& parts,
               const std::string& name = "student") {
    RunOptions options;
    for (const auto& [part, folder] : parts) options.init.submodels.emplace(part, run(folder));
    return train(config, name, std::move(options));
  }
  void train_teacher() {
    Trainer::Config config = config_of(2);
    config.model = tiny_model(tiny_stack());
    ASSERT_EQ(train(config, "teacher").code, ExitCode::kOk);
  }
};

TEST_F(DistillationRun, TheTeacherComesFromItsOwnRunAndStaysAsItIs) {
  train_teacher();
  const Ended ended = distil(distilling_config(3), {{"teacher", "teacher"}});
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("model/teacher starts with the parameters of "));
  const Tree<HostTensor> teacher = state_of(run("teacher")).tensors,
                         student = state_of(run("student")).tensors;
  size_t of_teacher = 0;
  for (const auto& [path, value] : student) {
    if (path.find("/teacher/") == std::string::npos) continue;
    EXPECT_TRUE(path.starts_with("state/model/teacher/")) << "a gradient or optimizer has " << path;
    EXPECT_EQ(value, teacher.at("model/" + path.substr(20))) << path;
    ++of_teacher;
  }
  EXPECT_EQ(of_teacher, subtree(teacher, "model").size());

  std::set<std::string> trained, evaluated;
  for (const auto& record : records_of(run("student"))) {
    for (const auto& [name, value] : record.items())
      (record.contains("split") ? evaluated : trained).insert(name);
  }
  EXPECT_TRUE(trained.contains("distillation"));
  EXPECT_FALSE(evaluated.contains("distillation"));
  EXPECT_TRUE(evaluated.contains("accuracy"));

  // A resume needs no folder of the teacher.
  const Ended resumed = distil(distilling_config(4), {});
  EXPECT_EQ(resumed.code, ExitCode::kOk) << resumed.error;
  EXPECT_EQ(state_of(run("student")).tensors.at(kTeacher), student.at(kTeacher));
}

TEST_F(DistillationRun, ATeacherMustBeGiven) {
  EXPECT_EQ(distil(distilling_config(1), {}).error,
            "model.teacher: expected the parameters of a trained model, got none; give --init-part "
            "teacher=FOLDER");
  train_teacher();
  EXPECT_EQ(distil(config_of(1), {{"teacher", "teacher"}}).error,
            "--init-part: expected a part of the model (decoder), got 'teacher'");
  EXPECT_EQ(distil(distilling_config(1), {{"techer", "teacher"}}).error,
            "--init-part: expected a part of the model (student, teacher), got 'techer'");
  Trainer::Config other = distilling_config(1);
  other.model.get_if<Distillation>()->teacher = small_model();
  EXPECT_THAT(distil(other, {{"teacher", "teacher"}}).error,
              HasSubstr("state/model/teacher/decoder/emb/weight: expected f32[32, 8], got "
                        "f32[32, 16] from "));
}

TEST_F(DistillationRun, TheTeacherMayBeStoredInFewerBitsAndTheStudentMayBeginTrained) {
  train_teacher();
  Trainer::Config config = distilling_config(1);
  config.model.get_if<Distillation>()->teacher.options.dtype = DType::kBF16;
  config.model.get_if<Distillation>()->student = tiny_model(tiny_stack());
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 0};
  const Ended ended = distil(config, {{"teacher", "teacher"}, {"student", "teacher"}});
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  const Tree<HostTensor> teacher = state_of(run("teacher")).tensors,
                         student = state_of(run("student")).tensors;
  const HostTensor& weight = teacher.at("model/decoder/emb/weight");
  EXPECT_EQ(student.at(kTeacher), weight.astype(DType::kBF16));
  EXPECT_EQ(student.at("model/student/decoder/emb/weight"), weight);
}

// Parts of a batch give the losses, and the gradients, of the whole.
TEST_F(DistillationRun, PartsOfABatchGiveTheSameStep) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{});
  const Tree<HostTensor> batch = input.next()->tensors;
  const auto step = [&](int64_t microbatches) {
    StepRun run(*runtime,
                {.model = distillation(),
                 .learner = Learner::Config{.optimizer = Sgd::Config{.learning_rate =
                                                                         ConstantRate{.value = 1}},
                                            .microbatches = microbatches},
                 .batch = batch_spec(8, 16)});
    run.set_state(run.initial_state(3));
    return run.step(batch);
  };
  const Tree<double> whole = step(1), split = step(4);
  EXPECT_GT(whole.at("distillation"), 0);
  EXPECT_NEAR(whole.at("loss"), 0.5 * whole.at("cross_entropy") + 2 * whole.at("distillation"),
              1e-5);
  for (const auto& [name, value] : whole)
    EXPECT_NEAR(split.at(name), value, 1e-5 * std::max(1.0, std::abs(value))) << name;
}

TEST_F(DistillationRun, DecodingLoadsTheStudentAlone) {
  replace_file(dir_ / "text.txt", std::string(4000, 'a'));
  const auto over_text = [&](Trainer::Config config) {
    config.input = TextInput::Config{
        .source = TextSource::Config{.path = dir_ / "text.txt"}, .seq_len = 16, .batch_size = 8};
    config.evalers.clear();
    return config;
  };
  const auto with_bytes = [](Child<Model> model) {
    model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 264;
    return model;
  };
  Trainer::Config teacher = over_text(config_of(1)), student = over_text(distilling_config(1));
  teacher.model = with_bytes(tiny_model(tiny_stack()));
  student.model.get_if<Distillation>()->teacher = teacher.model;
  student.model.get_if<Distillation>()->student = with_bytes(small_model());
  ASSERT_EQ(train(teacher, "teacher").code, ExitCode::kOk);
  const Ended ended = distil(student, {{"teacher", "teacher"}});
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;

  const LoadedModel loaded = load_model(run("student"));
  std::set<std::string> needed;
  for (const ProgramValue& value : decode_parameters(*loaded.model, {})) needed.insert(value.name);
  EXPECT_FALSE(needed.empty());
  EXPECT_EQ(needed.size(), loaded.parameters.size());
  for (const auto& [path, value] : loaded.parameters) {
    EXPECT_TRUE(path.starts_with("model/student/")) << path;
    EXPECT_TRUE(needed.contains(path)) << path;
  }
  EXPECT_FALSE(prefill_program(*loaded.model, {}, {}).text.empty());
}

}  // namespace
}  // namespace axle
