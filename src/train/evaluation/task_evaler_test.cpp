// Tests tasks that a run puts to its model.
#include "train/evaluation/task_evaler.h"

#include "data/text_input.h"
#include "data/text_source.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "pjrt/pjrt_runtime.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class TasksOfRun : public TrainerTest {
 protected:
  TasksOfRun() {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "the cat sat on the mat.\n";
    replace_file(dir_ / "text.txt", text);
    replace_file(dir_ / "facts.jsonl",
                 "{\"q\": \"the cat\", \"c\": [\"sat\", \"xyz\"], \"l\": 0}\n"
                 "{\"q\": \"on the\", \"c\": [\"qqqq\", \"mat.\"], \"l\": 1}\n");
    replace_file(dir_ / "facts.yaml",
                 "dataset_path: json\ndataset_kwargs: {data_files: {test: facts.jsonl}}\n"
                 "test_split: test\noutput_type: multiple_choice\ndoc_to_text: q\n"
                 "doc_to_choice: c\ndoc_to_target: l\n");
    replace_file(dir_ / "answers.yaml",
                 "dataset_path: json\ndataset_kwargs: {data_files: {test: facts.jsonl}}\n"
                 "test_split: test\ndoc_to_text: q\ndoc_to_target: \"{{c[l]}}\"\n"
                 "generation_kwargs: {until: ['.'], max_gen_toks: 4}\nnum_fewshot: 1\n"
                 "filter_list: [{name: short, filter: [{function: lowercase}]}]\n");
  }
  Trainer::Config config(int64_t max_steps) {
    Trainer::Config out = config_of(max_steps);
    out.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 257;
    out.input = TextInput::Config{.source = TextSource::Config{.path = (dir_ / "text.txt")},
                                  .tokenizer = ByteTokenizer::Config{},
                                  .seq_len = 48,
                                  .batch_size = 2};
    out.evalers = {};
    out.task_evalers["tasks"] = {.tasks = {dir_ / "facts.yaml", dir_ / "answers.yaml"},
                                 .every_steps = 2};
    return out;
  }
  std::vector<nlohmann::json> task_records(const std::string& name = "run") const {
    std::vector<nlohmann::json> out;
    for (const auto& record : metrics_of(run(name))) {
      if (record.contains("split")) out.push_back(record);
    }
    return out;
  }
};

TEST_F(TasksOfRun, AreInItsRecords) {
  const Ended ended = train(config(3));
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("eval tasks at step 2: facts/acc "));
  const auto records = task_records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["step"], 2);
  EXPECT_EQ(records[1]["step"], 3);
  for (const char* name : {"facts/acc", "facts/acc_stderr", "facts/acc_norm",
                           "answers/exact_match/short", "answers/exact_match_stderr"})
    EXPECT_TRUE(records[0].contains(name)) << name;
}

// What a run says of its last step is what its saved model says.
TEST_F(TasksOfRun, AreThoseOfTheSavedModel) {
  for (const char* dtype : {"f32", "bf16"}) {
    Trainer::Config cfg = config(4);
    cfg.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
        ConstantRate{.value = 0.1};
    if (std::string(dtype) == "bf16") cfg.compute_dtype = DType::kBF16;
    ASSERT_EQ(train(cfg, dtype).code, ExitCode::kOk);
    LoadedModel loaded = load_model(run(dtype));
    const auto runtime = make_runtime({.backend = "interpreter"});
    TaskModel model(*loaded.model, *loaded.tokenizer, *runtime,
                    {.context_len = loaded.context_len, .compute_dtype = loaded.compute_dtype});
    model.set_parameters(
        decode_arrays(*loaded.model, loaded.parameters, *runtime, loaded.compute_dtype, {}));
    Task task(read_task_config(dir_ / "facts.yaml"));
    const auto result = evaluate_task(task, model);
    const auto last = task_records(dtype).back();
    for (const MetricResult& metric : result->metrics)
      EXPECT_EQ(last["facts/" + metric.metric], metric.value) << dtype << ", " << metric.metric;
  }
}

TEST_F(TasksOfRun, AResumeMakesUpForWhatIsDueAndRepeatsNothing) {
  ASSERT_EQ(train(config(3), "whole").code, ExitCode::kOk);
  ASSERT_EQ(train(config(2)).code, ExitCode::kOk);
  ASSERT_EQ(train(config(3)).code, ExitCode::kOk);
  const auto whole = task_records("whole"), parts = task_records();
  ASSERT_EQ(parts.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i]["step"], whole[i]["step"]);
    EXPECT_EQ(parts[i]["facts/acc_norm"], whole[i]["facts/acc_norm"]);
  }
}

TEST_F(TasksOfRun, WhatCannotWorkIsRefusedBeforeTheFirstStep) {
  const auto expect = [&](const Trainer::Config& cfg, const std::string& message,
                          ExitCode code = ExitCode::kUser) {
    const Ended ended = train(cfg);
    EXPECT_EQ(ended.code, code);
    EXPECT_THAT(ended.error, HasSubstr(message));
    EXPECT_FALSE(directory_exists(run()));
  };
  Trainer::Config cfg = config(2);
  cfg.evalers["tasks"] = {.input = cfg.input};
  cfg.evalers["tasks"].input.get_if<TextInput>()->epochs = 1;
  cfg.evalers["tasks"].input.get_if<TextInput>()->split = Split::kAll;
  expect(cfg, "task_evalers.tasks: expected a name that no evaler has");
  cfg = config(2);
  cfg.task_evalers["tasks"].tasks = {};
  expect(cfg, "task_evalers.tasks.tasks: expected files of tasks, got none");
  cfg.task_evalers["tasks"].tasks = {dir_ / "facts.yaml", dir_ / "facts.yaml"};
  expect(cfg, "got 'facts' twice");
  cfg.task_evalers["tasks"] = {.tasks = {dir_ / "facts.yaml"}, .weights = Weights::kAverage};
  expect(cfg, "task_evalers.tasks.weights: expected a learner that keeps an average");
  cfg = config(2);
  cfg.input = SyntheticInput::Config{.seq_len = 16, .batch_size = 8};
  expect(cfg, "task_evalers.tasks: expected a run whose input has a tokenizer");
  replace_file(dir_ / "facts.jsonl",
               "{\"q\": \"\", \"c\": [\"a\"], \"l\": 0}\n{\"q\": \"\", \"l\": 0}\n");
  expect(config(2), "facts.jsonl:2: expected the field 'c'", ExitCode::kData);
}

}  // namespace
}  // namespace axle
