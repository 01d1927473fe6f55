// Runs the scripts of `axle completion` in the shells that are installed here.
#include "cli/completion.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/text/text.h"
#include "cli/candidates.h"
#include "cli/run_test.h"
#include "config/walk.h"
#include "io/file.h"
#include "recipes/resolve/resolve.h"
#include "targets/target.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

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
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _axle_bash; printf "%s\n" "${COMPREPLY[@]}"' bash)"},
    {"zsh", R"(zsh -f -c 'autoload -Uz compinit; compinit -D; source "$SCRIPT" || exit
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compgen -F _axle -- "$@[-1]"' zsh)"},
    {"fish", R"(fish --no-config -c 'source "$SCRIPT" || exit
complete -C "$argv"')"}};

// Runs this test program instead of `axle`: the scripts ask it for values. It reads its words, one
// in a line, and writes what the program would print.
TEST(CompletionProcess, Answers) {
  const char* words = std::getenv("AXLE_TEST_WORDS");
  if (!words) GTEST_SKIP() << "not called by a script";
  Arguments arguments;
  const std::string text = read_file(words);
  for (const std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n'))
    arguments.emplace_back(line);
  replace_file(std::string(words) + ".out", run_axle(arguments).out);
}

class ShellCompletion : public ::testing::TestWithParam<Shell> {
 protected:
  void SetUp() override {
    if (lines_of("command -v " + GetParam().name).back() != "0")
      GTEST_SKIP() << "no " << GetParam().name << " on this machine";
    replace_file(dir_ / "script", run_axle({"completion", GetParam().name}).out);
    replace_file(dir_ / "axle",
                 "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + (dir_ / "words") +
                     "\nAXLE_TEST_WORDS=" + (dir_ / "words") + " " +
                     std::filesystem::read_symlink("/proc/self/exe").string() +
                     " --gtest_filter=CompletionProcess.Answers > /dev/null 2>&1\ncat " +
                     (dir_ / "words.out") + "\n");
    std::filesystem::permissions(dir_ / "axle", std::filesystem::perms::owner_all);
  }
  std::vector<std::string> complete(const std::vector<std::string>& words) const {
    std::string command = "HOME=" + dir_.path().string() + " PATH=" + dir_.path().string() +
                          ":\"$PATH\" SCRIPT=" + (dir_ / "script");
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

TEST_P(ShellCompletion, CompletesVerbs) {
  EXPECT_THAT(complete({"axle", "tr"}), ::testing::ElementsAre("train"));
  EXPECT_THAT(complete({"axle", ""}), IsSupersetOf({"train", "config", "generate", "doctor"}));
  EXPECT_THAT(complete({"axle", "config", ""}), IsSupersetOf({"show", "diff", "list", "check"}));
}

TEST_P(ShellCompletion, CompletesRecipes) {
  EXPECT_THAT(complete({"axle", "train", ""}), IsSupersetOf({"quickstart", "fuji-7B-v2"}));
  EXPECT_THAT(complete({"axle", "config", "show", "fu"}),
              AllOf(Contains("fuji-7B-v2"), Each(StartsWith("fuji-"))));
  EXPECT_THAT(complete({"axle", "config", "diff", "quickstart", ""}),
              AllOf(Contains("fuji-7B-v2"), Not(Contains("show"))));
}

TEST_P(ShellCompletion, LeavesPathsToTheShell) {
  if (std::string(GetParam().name) == "fish") GTEST_SKIP() << "offers files beside the flags";
  EXPECT_THAT(complete({"axle", "checkpoint", "ls", ""}), ::testing::IsEmpty());
  EXPECT_THAT(complete({"axle", "checkpoint", "ls", "--"}), IsSupersetOf({"--json", "--help"}));
}

TEST_P(ShellCompletion, CompletesPlatformsAndNamesToDescribe) {
  EXPECT_THAT(complete({"axle", "plugin", "fetch", ""}), IsSupersetOf({"cpu", "cuda", "tpu"}));
  EXPECT_THAT(complete({"axle", "config", "describe", ""}), IsSupersetOf({"quickstart", "AdamW"}));
}

TEST_P(ShellCompletion, CompletesFlagsAndTheirValues) {
  EXPECT_THAT(complete({"axle", "train", "--s"}),
              ::testing::UnorderedElementsAre("--set", "--steps", "--seed", "--schedule"));
  EXPECT_THAT(complete({"axle", "train", "quickstart", "--backend", "i"}),
              ::testing::ElementsAre("interpreter"));
  EXPECT_THAT(complete({"axle", "completion", ""}), IsSupersetOf({"bash", "zsh", "fish"}));
}

TEST_P(ShellCompletion, CompletesClassesAfterAnEqualsSign) {
  if (GetParam().name == "bash") {  // bash splits words at '='
    EXPECT_THAT(complete({"axle", "train", "quickstart", "--set", "model", "=", "CausalL"}),
                ::testing::ElementsAre("CausalLM"));
  } else {
    EXPECT_THAT(complete({"axle", "train", "quickstart", "--set", "model=CausalL"}),
                ::testing::ElementsAre("model=CausalLM"));
  }
}

// The words of a command line as the shell passes them to the script: bash splits at '=' and ':'.
std::vector<std::string> as_split(const std::string& shell, std::vector<std::string> words) {
  if (shell != "bash") return words;
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::string part;
    for (const char c : word) {
      if (c != '=' && c != ':') {
        part += c;
        continue;
      }
      if (!part.empty()) out.push_back(std::exchange(part, ""));
      out.emplace_back(1, c);
    }
    if (!part.empty() || word.empty()) out.push_back(part);
  }
  return out;
}

TEST_P(ShellCompletion, CompletesPathsOfTheRecipe) {
  const std::string shell = GetParam().name;
  const auto of_set = [&](const std::string& typed) {
    return complete({"axle", "train", "quickstart", "--set", typed});
  };
  EXPECT_THAT(of_set("mod"), ::testing::UnorderedElementsAre("model=", "model."));
  EXPECT_THAT(of_set("model.decoder.emb"), IsSupersetOf({"model.decoder.emb."}));
  EXPECT_THAT(of_set("seed"), ::testing::ElementsAre("seed="));
  EXPECT_THAT(of_set("nothing.of"), ::testing::ElementsAre());
}

TEST_P(ShellCompletion, CompletesClassesThatFitTheField) {
  const std::string shell = GetParam().name;
  const std::string field = "model.decoder.output_norm=";
  std::vector<std::string> found =
      complete(as_split(shell, {"axle", "train", "quickstart", "--set", field + "La"}));
  for (std::string& one : found) {
    if (one.starts_with(field)) one.erase(0, field.size());
  }
  EXPECT_THAT(found, ::testing::ElementsAre("LayerNorm"));
}

TEST_P(ShellCompletion, CompletesSchedules) {
  EXPECT_THAT(complete({"axle", "train", "quickstart", "--schedule", ""}),
              IsSupersetOf({"keep", "stretch"}));
  EXPECT_THAT(complete({"axle", "train", "quickstart", "--schedule", "k"}),
              ::testing::Contains("keep"));
}

TEST_P(ShellCompletion, CompletesDtypes) {
  EXPECT_THAT(complete({"axle", "train", "--dtype", ""}), IsSupersetOf({"bf16", "f32"}));
}

TEST_P(ShellCompletion, CompletesTargetsAndModifiers) {
  EXPECT_THAT(complete({"axle", "compile", "quickstart", "--on", "gpu-H100-"}),
              IsSupersetOf({"gpu-H100-1", "gpu-H100-8", "gpu-H100-256"}));
  EXPECT_THAT(complete({"axle", "train", "quickstart", "--modify", "Set"}),
              IsSupersetOf({"SetRemat", "SetMesh"}));
}

INSTANTIATE_TEST_SUITE_P(Shells, ShellCompletion, ::testing::ValuesIn(kShells),
                         [](const auto& shell) { return shell.param.name; });

using Words = std::vector<std::string>;

TEST(Candidates, DependOnTheFlagsBeforeSet) {
  const auto found = [](const Words& words) { return cli::completion_candidates(words); };
  EXPECT_THAT(found({"train", "quickstart", "--set", "input.batch"}),
              ::testing::ElementsAre("input.batch_size="));
  EXPECT_THAT(found({"train", "quickstart", "--set", "input.batch_size="}),
              ::testing::ElementsAre("input.batch_size=16"));
  EXPECT_THAT(
      found({"train", "quickstart", "--set", "input.batch_size=8", "--set", "input.batch_size="}),
      ::testing::ElementsAre("input.batch_size=8"));
  EXPECT_THAT(found({"train", "quickstart", "--set=model.decoder.output_norm=RMSNo"}),
              ::testing::ElementsAre("--set=model.decoder.output_norm=RMSNorm"));
  // A class that a flag puts there has its own fields and slots.
  EXPECT_THAT(found({"train", "quickstart", "--set", "learner.optimizer=Muon", "--set",
                     "learner.optimizer.iter"}),
              ::testing::ElementsAre("learner.optimizer.iterations="));
  EXPECT_THAT(found({"train", "quickstart", "--set", "layer_summaries="}),
              ::testing::ElementsAre("layer_summaries=true", "layer_summaries=false"));
  EXPECT_THAT(found({"train", "quickstart", "--set", "model.decoder.lm_head=n"}),
              ::testing::ElementsAre("model.decoder.lm_head=none"));
}

// Of the config of the run, and only what an evaluation reads.
TEST(Candidates, EvalGetsFieldsOfTheRunThatItReads) {
  const TempDir dir;
  replace_file(dir / "config.yaml",
               run_axle({"config", "show", "quickstart", "--set", "seed=7", "--yaml"}).out);
  const auto found = [&](const std::string& typed) {
    return cli::completion_candidates({"eval", "--from", dir.path().string(), "--set", typed});
  };
  EXPECT_THAT(found(""), IsSupersetOf({"input.", "model.", "seed="}));
  EXPECT_THAT(found(""),
              Each(::testing::ContainsRegex(
                  "^(batch_partition|compiler_options|compute_dtype|input|model|seed)")));
  EXPECT_THAT(found("seed="), ::testing::ElementsAre("seed=7"));
  EXPECT_THAT(found("input."), Contains("input.batch_size="));
  EXPECT_THAT(found("input.split="), ::testing::ElementsAre("input.split=all", "input.split=train",
                                                            "input.split=held_out"));
}

TEST(Candidates, DtypesAreLimitedToThoseOfTheField) {
  const auto found = [](const std::string& typed) {
    return cli::completion_candidates({"train", "quickstart", "--set", typed});
  };
  EXPECT_THAT(found("compute_dtype="),
              ::testing::ElementsAre("compute_dtype=none", "compute_dtype=bf16",
                                     "compute_dtype=f32", "compute_dtype=f64"));
  EXPECT_THAT(found("model.@dtype="), IsSupersetOf({"model.@dtype=none", "model.@dtype=bf16"}));
}

// Only what the slot accepts: neither optimizers nor layers of another role.
TEST(Candidates, ClassesAreLimitedToTheSlot) {
  const Words norms =
      cli::completion_candidates({"train", "quickstart", "--set", "model.decoder.output_norm="});
  EXPECT_THAT(norms, IsSupersetOf({"model.decoder.output_norm=LayerNorm",
                                   "model.decoder.output_norm=RMSNorm"}));
  for (const char* other : {"AdamW", "Linear", "Attention"})
    EXPECT_THAT(norms, Not(Contains(std::string("model.decoder.output_norm=") + other)));
  EXPECT_THAT(
      cli::completion_candidates({"train", "quickstart", "--set", "learner.optimizer="}),
      AllOf(Contains("learner.optimizer=AdamW"), Not(Contains("learner.optimizer=LayerNorm"))));
}

TEST(Candidates, CandidatesAreAllAccepted) {
  Trainer::Config config = resolve_config({.recipe = "quickstart", .machine = "cpu-1"}).config;
  int64_t count = 0;
  Words open = {""};
  while (!open.empty()) {
    const std::string parent = open.back();
    open.pop_back();
    for (const std::string& path :
         cli::completion_candidates({"train", "quickstart", "--set", parent})) {
      if (path.ends_with('.'))
        open.push_back(path);
      else
        EXPECT_NO_THROW(find_slot(config, path.substr(0, path.size() - 1))) << path;
      ++count;
    }
  }
  EXPECT_GT(count, 100);
  const Words targets = cli::completion_candidates({"train", "--on", ""});
  EXPECT_GT(targets.size(), 40u);
  for (const std::string& target : targets)
    EXPECT_EQ(parse_target(target).machine(), target) << target;
}

TEST(Candidates, NoMistakeIsShown) {
  for (const Words& words :
       {Words{},
        {"--set"},
        {"--set", ""},
        {"train", "--set", "model["},
        {"--set", "a.b=c"},
        {"train", "none", "--config", "/none", "--set", "model."},
        {"train", "quickstart", "--on", "gpu", "--modify", "}{", "--set", "x", "--set", "model=="}})
    EXPECT_NO_THROW(cli::completion_candidates(words));
}

TEST(Completion, NamesVerbsFlagsRecipesAndClasses) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = run_axle({"completion", shell});
    EXPECT_EQ(ran.code, 0) << shell;
    for (const char* word : {"eval-layer", "quickstart", "steps", "interpreter"})
      EXPECT_THAT(ran.out, ::testing::HasSubstr(word)) << shell;
  }
  EXPECT_THAT(run_axle({"completion", "zsh"}).out, ::testing::HasSubstr("bashcompinit"));
}

}  // namespace
}  // namespace axle
