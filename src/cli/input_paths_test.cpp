// What verbs say of files that are not there, that the system does not show, or that are pipes.
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "io/safetensors.h"

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

TEST_F(InputPaths, ThatTheSystemDoesNotShowAreNotCalledMissing) {
  const std::string loop = dir_ / "loop";
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  for (const Arguments& command : readers_of(loop)) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr("Too many levels of symbolic links")) << join(command, " ");
  }
}

TEST_F(InputPaths, ThatAreMissingAreNamed) {
  const std::string missing = dir_ / "missing";
  for (const Arguments& command : readers_of(missing)) {
    const Ran ran = run_axle(command);
    EXPECT_NE(ran.code, 0) << join(command, " ");
    EXPECT_THAT(ran.err, HasSubstr(missing)) << join(command, " ");
  }
}

TEST_F(InputPaths, APatternSaysThatItMatchedNoFile) {
  const std::string pattern = dir_ / "*.txt";
  for (const Arguments& command : {Arguments{"config", "check", "quickstart", "--data", pattern},
                                   Arguments{"graph", "quickstart", "--data", pattern},
                                   Arguments{"train", "quickstart", "--data", pattern}}) {
    EXPECT_THAT(run_axle(command).err, HasSubstr(pattern)) << join(command, " ");
    EXPECT_THAT(run_axle(command).err, HasSubstr("got a pattern that matches no file"))
        << join(command, " ");
  }
}

// As a shell gives it for <(command).
TEST_F(InputPaths, TheFileOfACaseMayBeAPipe) {
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
}

}  // namespace
}  // namespace axle
