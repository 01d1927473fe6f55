// Tests tasks: the files that describe them, their documents, and the questions made of both.
#include "evaluate/task/task.h"

#include <gmock/gmock.h>

#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TaskFile : public ::testing::Test {
 protected:
  TaskFile() { write_documents(R"({"q": "One?", "c": ["a", "b"], "l": 1})"); }
  void write_documents(const std::string& lines) {
    replace_file(dir_ / "docs.jsonl", lines + "\n");
  }
  // Writes a task of choices with more keys, and returns its path.
  std::string file(const std::string& more, const std::string& texts = kTexts) {
    replace_file(dir_ / "task.yaml",
                 "dataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\n"
                 "test_split: test\n" +
                     texts + more);
    return dir_ / "task.yaml";
  }
  Task task(const std::string& more = "", const std::string& texts = kTexts) {
    return Task(read_task_config(file(more, texts)));
  }
  std::string mistake(const std::string& more, const std::string& texts = kTexts) {
    return error_of<Error>([&] { task(more, texts).questions(); });
  }
  static constexpr const char* kTexts =
      "output_type: multiple_choice\ndoc_to_text: 'Q: {{q}}'\ndoc_to_choice: c\n"
      "doc_to_target: l\n";
  TempDir dir_;
};

TEST_F(TaskFile, MakesQuestions) {
  Task made = task("description: 'Answer {{ q|lower }} '\n");
  EXPECT_EQ(made.config().name, "task");
  const std::vector<TaskQuestion> questions = made.questions();
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].pairs.size(), 2u);
  EXPECT_EQ(questions[0].pairs[1].context, "Answer one? Q: One?");
  EXPECT_EQ(questions[0].pairs[1].continuation, " b");
  EXPECT_THAT(questions[0].gold, ElementsAre(1));
  EXPECT_THAT(questions[0].where, ::testing::EndsWith("docs.jsonl:1"));
}

TEST_F(TaskFile, FewShotDocumentsPrecedeTheQuestion) {
  write_documents(R"({"q": "1", "c": ["a", "b"], "l": 0}
{"q": "2", "c": ["c", "d"], "l": 1}

{"q": "3", "c": ["e", "f"], "l": 0})");
  Task made = task(
      "num_fewshot: 2\nfewshot_split: test\nfewshot_delimiter: '; '\n"
      "fewshot_config: {sampler: first_n, doc_to_text: 'S: {{q}}'}\n");
  const std::vector<TaskQuestion> questions = made.questions(2);
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].pairs[0].context, "S: 2 d; S: 3 e; Q: 1");
  EXPECT_EQ(questions[1].pairs[0].context, "S: 1 a; S: 3 e; Q: 2");
  EXPECT_THAT(mistake("num_fewshot: 3\nfewshot_split: test\n"),
              HasSubstr("docs.jsonl:1: expected at least 3 other documents in the split 'test'"));
}

TEST_F(TaskFile, IncludedFilesProvideMissingKeys) {
  file("");
  replace_file(dir_ / "other.yaml", "include: task.yaml\ntask: other\ndoc_to_text: q\n");
  Task made(read_task_config(dir_ / "other.yaml"));
  EXPECT_EQ(made.config().name, "other");
  EXPECT_EQ(made.questions()[0].pairs[0].context, "One?");
  replace_file(dir_ / "other.yaml", "include: other.yaml\n");
  EXPECT_THAT(error_of<Error>([&] { read_task_config(dir_ / "other.yaml"); }),
              HasSubstr("does a file include itself?"));
}

TEST_F(TaskFile, KeysAndValuesThatAreNotUnderstoodAreNamed) {
  const auto expect = [&](const std::string& more, const std::string& message) {
    EXPECT_THAT(mistake(more), HasSubstr("task.yaml: " + message)) << more;
  };
  expect("num_fewshots: 1\n",
         "expected keys of a task that are understood, got num_fewshots; did you mean "
         "'num_fewshot'?");
  expect("output_types: x\n", "expected keys of a task");
  expect("num_fewshot: -1\n", "num_fewshot: expected an integer of at least 0, got -1");
  expect("num_fewshot: [1]\n", "num_fewshot: expected a text, got a list or mapping");
  expect("metric_list: [{metric: bleu}]\n", "metric_list[0]: metric: expected a metric of");
  expect("metric_list: [{metric: acc, ignore_case: true}]\n",
         "metric_list[0]: expected keys of a metric that are understood, got ignore_case");
  expect("filter_list: []\n", "filter_list: expected use with generate_until");
  expect("generation_kwargs: {}\n", "generation_kwargs: expected use with generate_until");
  expect("validation_split: dev\n", "validation_split: expected a split of data_files (test), got");
  expect("fewshot_config: {sampler: random}\n", "fewshot_config: sampler: expected default");
  expect("fewshot_config: {samples: []}\n", "fewshot_config: expected keys of few-shot documents");
  expect("dataset_name: en\n", "dataset_name: expected none for JSON, got en");
  expect("repeats: 2\n", "repeats: expected 1");
  expect("stride: 4\n", "stride: expected use with loglikelihood_rolling");
  EXPECT_THAT(mistake("process_docs: !function utils.f\n"),
              HasSubstr(":8: expected a value without a tag, got one with !function"));
  EXPECT_THAT(mistake("", "group: g\n"), HasSubstr("group: expected a file of one task"));
  EXPECT_THAT(mistake("", "output_type: choice\n"), HasSubstr("output_type: expected "));
  EXPECT_THAT(mistake("", "output_type: multiple_choice\ndoc_to_text: q\ndoc_to_target: l\n"),
              HasSubstr("doc_to_choice: expected the choices of multiple_choice, got none"));
  EXPECT_THAT(
      mistake("generation_kwargs: {do_sample: true}\n", "doc_to_text: q\ndoc_to_target: l\n"),
      HasSubstr("generation_kwargs: do_sample: expected false"));
}

TEST_F(TaskFile, ErrorsAreOneLineWhateverTheFileContains) {
  constexpr const char* kTwoLines = "\"a\\nb\"";
  for (const std::string key :
       {"metric_list: [{metric: *}]", "metric_list: [{metric: acc, aggregation: *}]",
        "validation_split: *", "fewshot_config: {split: *}", "dataset_name: *", "num_fewshot: *",
        "output_type: *", "dataset_path: *", "dataset_kwargs: {data_files: *}", "*: 1",
        "filter_list: [{name: *, filter: [{function: *}]}]", "fewshot_config: {sampler: *}"}) {
    std::string text = key;
    for (size_t at; (at = text.find('*')) != text.npos;) text.replace(at, 1, kTwoLines);
    replace_file(dir_ / "bad.yaml", "task: t\n" + text + "\n");
    const std::string error = error_of<Error>([&] { read_task_config(dir_ / "bad.yaml"); });
    EXPECT_NE(error, "no error") << text;
    EXPECT_EQ(error.find('\n'), error.npos) << error;
  }
}

TEST_F(TaskFile, FilesThatAreNotTasksAreRefused) {
  const auto expect = [&](const std::string& text, const std::string& message) {
    replace_file(dir_ / "bad.yaml", text);
    EXPECT_THAT(error_of<Error>([&] { read_task_config(dir_ / "bad.yaml"); }), HasSubstr(message));
  };
  expect("- a\n", "bad.yaml: expected a mapping with the keys of a task, got another value");
  expect("[{\"question\": \"q\"}]", "bad.yaml: expected the YAML file of a task, got documents");
  expect("a: [", "bad.yaml:1: expected YAML");
  expect("", "expected a mapping");
  expect("dataset_path: hellaswag\n",
         "dataset_path: expected json, got hellaswag; write the docum");
  expect("dataset_path: json\n", "dataset_kwargs: data_files: expected files, got none");
  expect("dataset_path: json\ndataset_kwargs: {data_files: {test: gone.jsonl}}\n",
         "gone.jsonl: expected a file of documents, got nothing there");
  EXPECT_THAT(error_of<Error>([&] { read_task_config(dir_ / "none.yaml"); }),
              HasSubstr("none.yaml"));
}

TEST_F(TaskFile, BadDocumentsAreNamed) {
  const auto expect = [&](const std::string& line, const std::string& message) {
    write_documents(R"({"q": "One?", "c": ["a", "b"], "l": 1})"
                    "\n\n" +
                    line);
    EXPECT_THAT(mistake(""), HasSubstr("docs.jsonl:3: " + message)) << line;
  };
  expect("{", "");
  expect("[1]", "expected an object, got another value");
  expect(R"({"c": ["a"], "l": 0})", dir_ / "task.yaml: doc_to_text:1: 'q' is undefined");
  expect(R"({"q": "", "l": 0})", "expected the field 'c' (");
  expect(R"({"q": "", "c": [], "l": 0})", "expected a list of choices (");
  expect(R"({"q": "", "c": "ab", "l": 0})", "expected a list of choices (");
  expect(R"({"q": "", "c": ["a", ""], "l": 0})", "expected a list of choices (");
  expect(R"({"q": "", "c": ["a", 1], "l": 0})", "expected a list of choices (");
  expect(R"({"q": "", "c": ["a"], "l": 1})",
         "expected the right answer to be one of 1 choice, got 1");
  expect(R"({"q": "", "c": ["a"], "l": -1})", "expected the right answer to be one of 1 choice");
  expect(R"({"q": "", "c": ["a"], "l": "b"})", "expected the right answer to be one of 1 choice");
  expect(R"({"q": "", "c": ["a"], "l": "b\n"})",
         R"(expected the right answer to be one of 1 choice, got the text "b\x0a")");
  expect(R"({"q": "", "c": ["a", "b"], "l": "1"})",
         "expected the right answer to be one of 2 choices, got the text \"1\"");
  expect(R"({"q": "", "c": ["a"], "l": []})", "expected a right answer, got none");
  write_documents("");
  EXPECT_THAT(mistake(""), HasSubstr("docs.jsonl: expected documents, got none"));
}

TEST_F(TaskFile, DocumentsMayBeAList) {
  const std::string first = R"({"q": "One?", "c": ["a", "b"], "l": 1})",
                    second = R"({"q": "Two?", "c": ["a", "b"], "l": 0})";
  const auto texts = [&](const std::string& name, const std::string& bytes) {
    replace_file(dir_ / name, bytes);
    std::string out;
    for (const TaskDocument& document : read_task_split({dir_ / name}).documents)
      out += document.text + "\n";
    return out;
  };
  const std::string lines = texts("docs.jsonl", first + "\n" + second);
  for (const char* name : {"list.json", "list.jsonl"}) {
    EXPECT_EQ(texts(name, "[\n " + first + ",\n " + second + "\n]\n"), lines) << name;
    EXPECT_EQ(texts(name, "[" + first + ", " + second + "]"), lines) << name;
  }
  EXPECT_THAT(error_of<DataError>([&] { texts("list.json", "[" + first + ", 3]"); }),
              HasSubstr("list.json:2: expected an object, got another value"));
}

TEST_F(TaskFile, UnknownFieldNamesAreRefused) {
  const std::string texts = "doc_to_target: l\ndoc_to_text: ";
  EXPECT_THAT(mistake("", texts + "question\n"),
              HasSubstr("task.yaml: doc_to_text: expected a field of the documents (c, l, q) or a "
                        "template, got 'question'; for a text, write {{ 'question' }}"));
  EXPECT_EQ(mistake("", texts + "\"{{ 'question' }}\"\n"), "no error");
}

TEST_F(TaskFile, QuestionsAreTheSameEachTime) {
  write_documents(
      "{\"q\": \"1\", \"c\": [\"a\"], \"l\": 0}\n{\"q\": \"2\", \"c\": [\"b\"], \"l\": 0}\n"
      "{\"q\": \"3\", \"c\": [\"c\"], \"l\": 0}");
  Task made = task("num_fewshot: 1\nfewshot_split: test\n");
  const auto contexts = [&] {
    std::vector<std::string> out;
    for (const TaskQuestion& question : made.questions()) out.push_back(question.pairs[0].context);
    return out;
  };
  const auto first = contexts();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(contexts(), first);
}

TEST_F(TaskFile, BadTemplatesAreNamedWithTheirLine) {
  const auto expect = [&](const std::string& text, const std::string& message) {
    const std::string texts = "doc_to_target: l\ndoc_to_text: \"" + text + "\"\n";
    EXPECT_THAT(mistake("", texts), HasSubstr("task.yaml: doc_to_text:" + message)) << text;
  };
  expect("a\\n{{ q", "2: expected");
  expect("{% include 'x' %}", "1: ");
  expect("{{ q|regex_replaced }}", "1: ");
  expect("a\\n\\n{{ q + 1 }}", "3: ");
}

}  // namespace
}  // namespace axle
