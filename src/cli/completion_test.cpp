// Runs the scripts of `axle completion` in the shells that are installed here.
#include "cli/completion.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

// Runs a command. Returns the lines of both streams, and its exit code as the last line.
std::vector<std::string> lines_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(("{ " + command + "\n} 2>&1; echo $?").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = ::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  ::pclose(pipe);
  std::vector<std::string> out;
  for (const std::string_view line : split(trim(text), '\n')) out.emplace_back(line);
  return out;
}

struct Shell {
  std::string name;
  /// Sources "$SCRIPT", then prints one candidate per line for the words "$@". The last word is the
  /// one being typed.
  std::string run;
};

const Shell kShells[] = {
    {"bash", R"(bash --norc --noprofile -c 'source "$SCRIPT" || exit
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _axle; printf "%s\n" "${COMPREPLY[@]}"' bash)"},
    {"zsh", R"(zsh -f -c 'autoload -Uz compinit; compinit -D; source "$SCRIPT" || exit
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compgen -F _axle -- "$@[-1]"' zsh)"},
    {"fish", R"(fish --no-config -c 'source "$SCRIPT" || exit
complete -C "$argv"')"}};

class ShellCompletion : public testing::TestWithParam<Shell> {
 protected:
  void SetUp() override {
    if (lines_of("command -v " + GetParam().name).back() != "0")
      GTEST_SKIP() << "no " << GetParam().name << " on this machine";
    replace_file(dir_ / "script", run_axle({"completion", GetParam().name}).out);
  }
  std::vector<std::string> complete(const std::vector<std::string>& words) const {
    std::string command = "HOME=" + dir_.path().string() + " SCRIPT=" + (dir_ / "script");
    command += " " + GetParam().run;
    for (const std::string& word : words) command += " '" + word + "'";
    std::vector<std::string> out = lines_of(command);
    EXPECT_EQ(out.back(), "0") << join(out, "\n");
    out.pop_back();
    for (std::string& line : out) line.resize(std::min(line.find('\t'), line.size()));
    // zsh itself removes candidates that do not match.
    std::erase_if(out, [&](const std::string& line) { return !line.starts_with(words.back()); });
    return out;
  }
  const TempDir dir_;
};

TEST_P(ShellCompletion, OfVerbs) {
  EXPECT_THAT(complete({"axle", "tr"}), testing::ElementsAre("train"));
  EXPECT_THAT(complete({"axle", ""}), IsSupersetOf({"train", "config", "generate", "doctor"}));
  EXPECT_THAT(complete({"axle", "config", ""}), IsSupersetOf({"show", "diff", "list", "check"}));
}

TEST_P(ShellCompletion, OfRecipes) {
  EXPECT_THAT(complete({"axle", "train", ""}), IsSupersetOf({"quickstart", "fuji-7B-v2"}));
  EXPECT_THAT(complete({"axle", "config", "show", "fu"}),
              AllOf(Contains("fuji-7B-v2"), Each(StartsWith("fuji-"))));
  EXPECT_THAT(complete({"axle", "config", "diff", "quickstart", ""}),
              AllOf(Contains("fuji-7B-v2"), Not(Contains("show"))));
}

TEST_P(ShellCompletion, OfPlatformsAndOfWhatCanBeDescribed) {
  EXPECT_THAT(complete({"axle", "plugin", "fetch", ""}), IsSupersetOf({"cpu", "cuda", "tpu"}));
  EXPECT_THAT(complete({"axle", "config", "describe", ""}), IsSupersetOf({"quickstart", "AdamW"}));
}

TEST_P(ShellCompletion, OfFlagsAndTheirValues) {
  EXPECT_THAT(complete({"axle", "train", "--s"}),
              testing::UnorderedElementsAre("--set", "--steps", "--seed"));
  EXPECT_THAT(complete({"axle", "train", "quickstart", "--backend", "i"}),
              testing::ElementsAre("interpreter"));
  EXPECT_THAT(complete({"axle", "completion", ""}), IsSupersetOf({"bash", "zsh", "fish"}));
}

TEST_P(ShellCompletion, OfClassesBehindAnEqualsSign) {
  if (GetParam().name == "bash") {  // bash splits words at '='
    EXPECT_THAT(complete({"axle", "train", "quickstart", "--set", "model", "=", "CausalL"}),
                testing::ElementsAre("CausalLM"));
  } else {
    EXPECT_THAT(complete({"axle", "train", "quickstart", "--set", "model=CausalL"}),
                testing::ElementsAre("model=CausalLM"));
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, ShellCompletion, testing::ValuesIn(kShells),
                         [](const auto& shell) { return shell.param.name; });

TEST(Completion, NamesVerbsFlagsRecipesAndClasses) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run_axle({"completion", shell});
    EXPECT_EQ(ran.code, 0) << shell;
    for (const char* word : {"eval-layer", "quickstart", "steps", "interpreter"})
      EXPECT_THAT(ran.out, ::testing::HasSubstr(word)) << shell;
  }
  EXPECT_THAT(run_axle({"completion", "bash"}).out, ::testing::HasSubstr("LayerNorm"));
  EXPECT_THAT(run_axle({"completion", "zsh"}).out, ::testing::HasSubstr("bashcompinit"));
}

}  // namespace
}  // namespace axle
