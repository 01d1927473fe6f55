// Tests `eval --task` through the command line, with a model whose likeliest tokens are known.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/arguments/task_arguments.h"
#include "cli/run_test.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class EvalTask : public ::testing::Test {
 protected:
  void SetUp() override {
    save_short_talker(dir_ / "model");
    replace_file(dir_ / "docs.jsonl",
                 "{\"q\": \"xa\", \"c\": [\"b\", \"c\"], \"l\": 0, \"answer\": \"BÉ\"}\n"
                 "{\"q\": \"a\", \"c\": [\"c\", \"bé\"], \"l\": 0, \"answer\": \"b\"}\n");
    write_task("choices",
               "output_type: multiple_choice\ntarget_delimiter: ''\ndoc_to_text: q\n"
               "doc_to_choice: c\ndoc_to_target: l\n");
    write_task("answers",
               "doc_to_text: q\ndoc_to_target: answer\n"
               "generation_kwargs: {until: [], max_gen_toks: 8}\n"
               "metric_list: [{metric: exact_match, ignore_case: true}]\n");
  }
  void write_task(const std::string& name, const std::string& text) {
    replace_file(dir_ / (name + ".yaml"),
                 "dataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\n"
                 "test_split: test\n" +
                     text);
  }
  std::string task(const std::string& name) { return dir_ / (name + ".yaml"); }
  Ran run(const Arguments& more) {
    return run_axle(joined({"eval", "--from", dir_ / "model", "--backend", "interpreter"}, more));
  }
  void expect_mistake(const Arguments& more, const std::string& message, int code = 2) {
    const Ran ran = run(more);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
  TempDir dir_;
};

TEST_F(EvalTask, DocumentsAreRefusedAsATask) {
  expect_mistake({"--task", dir_ / "docs.jsonl"},
                 "docs.jsonl: expected the YAML file of a task, got documents; write one beside it "
                 "with task: NAME, dataset_path: json, dataset_kwargs: {data_files: {test: "
                 "docs.jsonl}}, test_split: test, ");
}

TEST_F(EvalTask, PrintsATable) {
  const Ran ran = run({"--task", task("choices"), "--task", task("answers")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "task     metric       filter  value   stderr  documents  shots\n"
            "choices  acc          -       0.5000  0.5000  2          0\n"
            "choices  acc_norm     -       0.5000  0.5000  2          0\n"
            "answers  exact_match  none    0.5000  0.5000  2          0\n");
}

// The second question of each task is longer than the model.
TEST_F(EvalTask, ContextsThatAreCutAreCounted) {
  replace_file(dir_ / "docs.jsonl", R"({"q": "xa", "c": ["b", "c"], "l": 0, "answer": "b"})"
                                    "\n"
                                    R"({"q": ")" +
                                        std::string(3000, 'x') +
                                        R"(a", "c": ["b", "c"], "l": 0, "answer": "b"})"
                                        "\n");
  const std::string file = dir_ / "samples.jsonl";
  for (const std::string name : {"choices", "answers"}) {
    const Ran ran = run({"--task", task(name), "--samples", file});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\n" + name +
                                   ": the model read only the end of 1 context, which is too long "
                                   "for it\n"));
    const std::string samples = read_file(file);
    const size_t line_end = samples.find('\n');
    EXPECT_EQ(samples.substr(0, line_end).find("num_cut_tokens"), std::string::npos);
    EXPECT_GT(nlohmann::json::parse(samples.substr(line_end + 1))["num_cut_tokens"], 900);
    const Ran json = run({"--task", task(name), "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)["tasks"][name]["num_cut"], 1);
  }
}

// Each of the two answers is a row of 16 positions.
TEST_F(EvalTask, BatchTokensLimitTheSizeOfABatch) {
  write_task("likely", "output_type: loglikelihood\ndoc_to_text: q\ndoc_to_target: answer\n");
  const auto runtime = make_runtime({.backend = "interpreter"});
  LoadedModel loaded = load_model(dir_ / "model");
  Task task(read_task_config(dir_ / "likely.yaml"));
  const auto num_batches = [&](const std::string& tokens) {
    cli::TaskArguments given;
    CLI::App app;
    given.add_to(app);
    app.parse("--batch-tokens " + tokens);
    TaskModel model(*loaded.model, *loaded.tokenizer, *runtime,
                    {.batch_tokens = given.options().batch_tokens});
    model.set_parameters(decode_arrays(*loaded.model, loaded.parameters, *runtime, {}, {}));
    int64_t out = 0;
    evaluate_task(task, model, {}, [&](double) { return ++out > 0; });
    return out;
  };
  EXPECT_EQ(num_batches("32"), 1);
  EXPECT_EQ(num_batches("31"), 2);
  EXPECT_EQ(num_batches("1"), 2);
}

TEST_F(EvalTask, WritesJsonAndSamples) {
  const std::string file = dir_ / "samples.jsonl";
  const Ran ran = run({"--task", task("choices"), "--limit", "1", "--samples", file, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  const auto& metric = json["tasks"]["choices"]["metrics"][0];
  EXPECT_EQ(json["tasks"]["choices"]["num_documents"], 1);
  EXPECT_EQ(metric["metric"], "acc");
  EXPECT_EQ(metric["value"], 1);
  EXPECT_TRUE(metric["standard_error"].is_null());
  const auto sample = nlohmann::json::parse(read_file(file));
  EXPECT_THAT(sample["document"].get<std::string>(), ::testing::EndsWith("docs.jsonl:1"));
  EXPECT_EQ(sample["requests"][0]["context"], "xa");
  EXPECT_EQ(sample["requests"][0]["continuation"], "b");
  EXPECT_TRUE(sample["requests"][0]["is_greedy"]);
  // One logit is 1 (after a norm that makes it 16.1) and the others are 0.
  const double top = std::sqrt(260.0);
  EXPECT_NEAR(sample["requests"][0]["log_likelihood"].get<double>(),
              top - std::log(std::exp(top) + 259), 1e-3);
  EXPECT_FALSE(sample["requests"][1]["is_greedy"]);
}

TEST_F(EvalTask, SamplesDoNotReplaceFilesOfTheTaskOrOtherDocuments) {
  const std::string other = "{\"q\": \"kept\"}\n";
  replace_file(dir_ / "shots.jsonl", read_file(dir_ / "docs.jsonl"));
  replace_file(dir_ / "other.jsonl", other);
  replace_file(dir_ / "samples.jsonl", "");
  std::filesystem::create_symlink(dir_ / "docs.jsonl", dir_ / "link.jsonl");
  replace_file(dir_ / "base.yaml",
               "dataset_path: json\n"
               "dataset_kwargs: {data_files: {test: [docs.jsonl], train: shots.jsonl}}\n"
               "test_split: test\ndoc_to_text: q\ndoc_to_target: answer\n");
  replace_file(dir_ / "whole.yaml", "include: base.yaml\noutput_type: loglikelihood\n");
  const Arguments run_it = {"--task", task("choices"), "--task", task("whole"), "--samples"};
  for (const char* name : {"docs.jsonl", "shots.jsonl", "link.jsonl", "base.yaml", "whole.yaml"}) {
    const std::string file = dir_ / name, before = read_file(file);
    expect_mistake(
        joined(run_it, {file}),
        "axle: --samples: expected a file that this command does not use otherwise, got " + file +
            "; name another\n");
    EXPECT_EQ(read_file(file), before);
  }
  expect_mistake(joined(run_it, {dir_ / "other.jsonl"}),
                 "axle: --samples: expected a new file or one that this command wrote, got " +
                     (dir_ / "other.jsonl") + ", which exists; name another or delete it\n");
  EXPECT_EQ(read_file(dir_ / "other.jsonl"), other);
  for (int times = 0; times < 2; ++times) {
    const Ran ran = run(joined(run_it, {dir_ / "samples.jsonl"}));
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

TEST_F(EvalTask, MistakesAreOneLine) {
  expect_mistake({}, "axle: --data is required without --task\n");
  expect_mistake({"--limit", "1"},
                 "axle: --batch-tokens, --limit, --num-fewshot, --samples: expected use with "
                 "--task, got none\n");
  expect_mistake({"--task", task("choices"), "--data", "synthetic"},
                 "axle: --task: expected no --data and no --set beside it, got one\n");
  expect_mistake({"--task", task("choices"), "--limit", "0"},
                 "axle: --limit: expected at least 1, got 0\n");
  expect_mistake({"--task", task("choices"), "--num-fewshot", "-1"},
                 "axle: --num-fewshot: expected at least 0, got -1\n");
  expect_mistake({"--task", task("choices"), "--batch-tokens", "0"},
                 "axle eval: --batch-tokens: expected an integer of at least 1, got '0'; see ");
  expect_mistake({"--task", task("choices"), "--task", task("choices")},
                 "choices.yaml: task: expected a name of its own, got 'choices' twice\n");
  expect_mistake({"--task", task("choices"), "--samples", task("choices")}, "axle: --samples: ");
  write_task("long",
             "output_type: loglikelihood\ndoc_to_text: q\ndoc_to_target: \"{{ 'x' * 30 }}\"\n");
  expect_mistake({"--task", task("long")},
                 "docs.jsonl:1: expected a continuation of at most the model's 20 tokens, got 30\n",
                 3);
  write_task("much", "doc_to_text: q\ndoc_to_target: q\ngeneration_kwargs: {max_gen_toks: 20}\n");
  expect_mistake({"--task", task("much")},
                 "max_gen_toks: expected fewer than the model's 20 tokens, got 20");
}

}  // namespace
}  // namespace axle
