// What verbs say of files that are not there, that the system does not show, or that are pipes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "io/safetensors.h"
#include "testing/environment_change.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class InputPaths : public ::testing::Test {
 protected:
  InputPaths() {
    replace_file(dir_ / "op.yaml", kNegation);
    replace_file(dir_ / "layer.yaml", kLinearLayer);
    save_safetensors(dir_ / "in.safetensors", {{"in/x", HostTensor({1, 2}, {1.0f, 2.0f})}});
  }
  // Returns commands that read the file at `path`.
  std::vector<Arguments> readers_of(const std::string& path) const {
    const std::string op = dir_ / "op.yaml", run = dir_ / "run";
    const Arguments layer = {
        "eval-layer", dir_ / "layer.yaml",      "--inputs",  dir_ / "in.safetensors",
        "--output",   dir_ / "out.safetensors", "--backend", "interpreter"};
    const Arguments train = {"train", "quickstart", "--backend", "interpreter", "--dir", run};
    return {{"config", "check", "quickstart", "--data", path},
            {"config", "show", "--config", path},
            {"config", "diff", "quickstart", path},
            {"graph", "quickstart", "--data", path},
            joined(train, {"--data", path}),
            joined(train, {"--data", "synthetic", "--init-from", path}),
            joined(train, {"--data", "synthetic", "--executable", path}),
            {"eval", "--from", path, "--data", "synthetic"},
            {"generate", "--from", path, "--prompt", "a"},
            {"eval-op", path, "--backend", "interpreter"},
            {"eval-layer", path, "--output", dir_ / "out.safetensors"},
            {"eval-op", op, "--backend", "interpreter", "--inputs", path},
            {"eval-op", op, "--backend", "interpreter", "--compare", path},
            replaced(layer, {"--inputs", path}),
            joined(layer, {"--params", path}),
            joined(layer, {"--rename", path}),
            joined(layer, {"--compare", path}),
            {"import", path, "--tokenizer", path, "--out", dir_ / "import"},
            {"checkpoint", "ls", path},
            {"runs", path}};
  }
  static constexpr std::string_view kNegation = "function: neg\ninputs: {x: [1, 2]}\n";
  TempDir dir_;
};

TEST_F(InputPaths, InaccessiblePathsAreNotCalledMissing) {
  const std::string loop = dir_ / "loop";
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  for (const Arguments& command : readers_of(loop)) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr("Too many levels of symbolic links")) << join(command, " ");
  }
}

TEST_F(InputPaths, MissingPathsAreNamed) {
  const std::string missing = dir_ / "missing";
  for (const Arguments& command : readers_of(missing)) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr(missing)) << join(command, " ");
  }
}

TEST_F(InputPaths, PatternsWithoutMatchesAreNamed) {
  const std::string pattern = dir_ / "*.txt";
  for (const Arguments& command : {Arguments{"config", "check", "quickstart", "--data", pattern},
                                   Arguments{"graph", "quickstart", "--data", pattern},
                                   Arguments{"train", "quickstart", "--data", pattern}}) {
    EXPECT_THAT(run_axle(command).err, HasSubstr(pattern)) << join(command, " ");
    EXPECT_THAT(run_axle(command).err, HasSubstr("got a pattern that matches no file"))
        << join(command, " ");
  }
}

// As a shell passes it for <(command).
TEST_F(InputPaths, TheFileOfACaseMayBeAPipe) {
  const std::string run = dir_ / "run";
  const Ran trained = run_axle(joined({"train", "quickstart", "--data", text_file(dir_),
                                       "--backend", "interpreter", "--steps", "1", "--dir", run},
                                      tiny_quickstart()));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto through_pipe = [](std::string_view text, const Arguments& before,
                               const Arguments& after) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), std::ssize(text));
    ::close(ends[1]);
    Arguments command = before;
    command.push_back("/dev/fd/" + std::to_string(ends[0]));
    const Ran ran = run_axle(joined(command, after));
    ::close(ends[0]);
    return ran;
  };
  const Ran op = through_pipe(kNegation, {"eval-op"}, {"--backend", "interpreter"});
  EXPECT_EQ(op.code, 0) << op.err;
  EXPECT_THAT(op.out, HasSubstr("-1"));
  const Ran layer = through_pipe(kLinearLayer, {"eval-layer"},
                                 {"--inputs", dir_ / "in.safetensors", "--seed", "1", "--output",
                                  dir_ / "out", "--backend", "interpreter"});
  EXPECT_EQ(layer.code, 0) << layer.err;
  const Ran config =
      through_pipe("set: {seed: 7}\n", {"config", "show", "quickstart", "--config"}, {});
  EXPECT_EQ(config.code, 0) << config.err;
  EXPECT_THAT(config.out, HasSubstr("\nseed: 7\n"));
  replace_file(dir_ / "documents.jsonl", "{\"q\": \"the quick\", \"a\": \" brown\"}\n");
  const std::string task =
      "task: foxes\ndataset_path: json\ndataset_kwargs: {data_files: {test: '" +
      (dir_ / "documents.jsonl") +
      "'}}\ntest_split: test\noutput_type: loglikelihood\n"
      "doc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\n";
  const Ran eval =
      through_pipe(task, {"eval", "--from", run, "--task"}, {"--backend", "interpreter"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_THAT(eval.out, HasSubstr("foxes"));
  const Ran talk = through_pipe(
      "{{ messages[0].content }}", {"generate", "--from", run, "--chat", "--chat-template"},
      {"--prompt", "the", "--max-tokens", "1", "--backend", "interpreter"});
  EXPECT_EQ(talk.code, 0) << talk.err;
  // What is read at any offset, or twice, is a file.
  const Ran data = through_pipe("text", {"config", "check", "quickstart", "--data"}, {});
  EXPECT_THAT(data.err, HasSubstr("expected a regular file, got a FIFO"));
}

TEST_F(InputPaths, AConfigMayComeFromStdin) {
  replace_file(dir_ / "seed.yaml", "set: {seed: 7}\n");
  const int before = ::dup(STDIN_FILENO), file = ::open((dir_ / "seed.yaml").c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
  const Ran ran = run_axle({"config", "show", "quickstart", "--config", "-"});
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\nseed: 7\n"));
}

TEST_F(InputPaths, NamesNeedNotBeUtf8) {
  const std::string path = dir_ / "b\xff.txt";
  replace_file(path, "some text of a file\n");
  for (const Arguments& flags :
       {Arguments{"--data", path}, Arguments{"--set", "input.source.path=" + path},
        Arguments{"--set", "input.source.path='" + path + "'"}}) {
    const Ran ran =
        run_axle(joined({"config", "show", "quickstart", "--set", "evalers={}"}, flags));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("b\\\\xff.txt'\n"));
    EXPECT_EQ(
        run_axle(joined({"config", "check", "quickstart", "--set", "evalers={}"}, flags)).code, 0);
  }
}

// Not all readers see the flag: the paths in configs and files say the same.
TEST_F(InputPaths, UrlsAreNotSupported) {
  constexpr std::string_view kAddress = "s3://bucket/x.yaml";
  const std::string address(kAddress);
  const auto expect = [](const Arguments& command) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr("s3:// is not supported, mount it or copy it here"))
        << join(command, " ");
    EXPECT_THAT(ran.err, ::testing::Not(HasSubstr("nothing there"))) << join(command, " ");
  };
  for (const Arguments& command : readers_of(address)) expect(command);
  const std::string text = "input.source.path=" + text_file(dir_);
  const std::string data = dir_ / "data.yaml", include = dir_ / "include.yaml";
  replace_file(data,
               "task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: 's3://b/x'}}\n");
  replace_file(include, "include: s3://b/x\n");
  for (const std::vector<std::string>& edits : std::vector<std::vector<std::string>>{
           {"input.source.path=" + address},
           {text, "input.source.more_paths=[\"s3://b/x\"]"},
           {text, "input.tokenizer=HuggingFaceTokenizer", "input.tokenizer.path=" + address},
           {"input=ChatInput", "input.source.path=" + address},
           {"input=TokenInput", "input.sources={a: {path: \"s3://b/x\"}}"},
           {text, "task_evalers={t: {tasks: [\"s3://b/x\"]}}"},
           {text, "task_evalers={t: {tasks: ['" + data + "']}}"},
           {text, "task_evalers={t: {tasks: ['" + include + "']}}"}})
    expect(joined({"config", "check", "quickstart"},
                  joined(set_flags({"evalers={}"}), set_flags(edits))));
  const EnvironmentChange plugin("AXLE_PLUGIN_CPU", "s3://bucket/plugin.so");
  expect(joined({"train", "quickstart", "--set", text, "--dir", dir_ / "other", "--backend", "cpu"},
                tiny_quickstart()));
}

}  // namespace
}  // namespace axle
