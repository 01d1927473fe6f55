// Tests the program's answers to mistakes in the command itself.
#include "cli/run_cli.h"

#include <gmock/gmock.h>

#include <system_error>

#include "base/error.h"
#include "base/version.h"
#include "cli/output.h"
#include "cli/run_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(RunCli, HelpNamesEveryVerbAndExitCode) {
  const Ran ran = run_axle({"--help"});
  EXPECT_EQ(ran.code, 0);
  for (const char* verb :
       {"train", "eval", "config", "params", "doctor", "eval-layer", "completion"})
    EXPECT_THAT(ran.out, HasSubstr(verb));
  EXPECT_THAT(ran.out, HasSubstr("130  Ctrl-C"));
  for (const char* reserved : {"16  reserved for launchers", "18  reserved for launchers"})
    EXPECT_THAT(ran.out, HasSubstr(reserved));
  EXPECT_EQ(run_axle({}).out, ran.out);
}

TEST(RunCli, EveryVerbHasHelp) {
  for (const cli::AnyVerb& verb : cli::verbs()) {
    std::vector<std::string> words;
    const std::string name(verb.name);
    const size_t blank = name.find(' ');
    words.push_back(name.substr(0, blank));
    if (blank != name.npos) words.push_back(name.substr(blank + 1));
    words.emplace_back("--help");
    const Ran ran = run_axle(words);
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_THAT(ran.out, HasSubstr(std::string(verb.help))) << name;
    EXPECT_THAT(ran.out, HasSubstr("axle " + name)) << name;
  }
}

TEST(RunCli, Version) {
  const Ran ran = run_axle({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "axle " + std::string(version()) + "\n");
}

TEST(RunCli, UnknownVerb) {
  const Ran ran = run_axle({"trian", "quickstart"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, StartsWith("axle: no such verb: trian; did you mean 'train'? (verbs: "));
  EXPECT_EQ(ran.out, "");
}

TEST(RunCli, UnknownSubverb) {
  const Ran ran = run_axle({"config", "shwo", "quickstart"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle config: no such verb: shwo; did you mean 'show'? (verbs: check, describe, diff, "
            "list, show)\n");
}

TEST(RunCli, UnknownVerbsHaveNoHelp) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"trian"}, std::vector<std::string>{"config", "shwo"}}) {
    const Ran plain = run_axle(words);
    std::vector<std::string> asking = words;
    asking.emplace_back("--help");
    const Ran ran = run_axle(asking);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, plain.err);
  }
}

TEST(RunCli, LongUserTextIsCutInMessages) {
  const std::string word(100'000, 'x');
  std::string words;
  for (int i = 0; i < 50'000; ++i) words += "xy ";
  const TempDir dir;
  const auto file = [&](const std::string& name, const std::string& text) {
    replace_file(dir / name, text);
    return dir / name;
  };
  for (const std::string& text : {word, words}) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"config", "check", "quickstart", "--config",
              file("mesh.yaml", "mesh: \"" + text + "\"")},
             {"config", "check", "quickstart", "--config",
              file("dtype.yaml", "set: {compute_dtype: \"" + text + "\"}")},
             {"config", "check", "quickstart", "--set",
              "input.tokenizer={class: SentencePieceTokenizer, path: \"" + text + "\"}"},
             {"config", "describe", text},
             {"compile", "quickstart", "--on", text},
             {text},
             {"train", "--" + text}}) {
      const Ran ran = run_axle(arguments);
      EXPECT_NE(ran.code, 0) << arguments[0];
      EXPECT_NE(ran.code, 1) << arguments[0];
      EXPECT_LT(ran.err.size(), 50'000) << arguments[0];
      EXPECT_TRUE(ran.err.ends_with('\n')) << arguments[0];
    }
  }
}

TEST(RunCli, PathsAndListsStayWhole) {
  const std::string path = "/nowhere/" + std::string(200, 'd') + "/" + std::string(150, 'f');
  EXPECT_THAT(run_axle({"config", "check", "quickstart", "--config", path}).err, HasSubstr(path));
  EXPECT_THAT(run_axle({"config", "show", "nothing-like-it"}).err, Not(HasSubstr("...")));
}

TEST(RunCli, AVerbMissesItsSubverb) {
  const Ran ran = run_axle({"config"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "axle config: expected a verb (verbs: check, describe, diff, list, show), got none\n");
  EXPECT_THAT(run_axle({"config", "--help"}).out, HasSubstr("Usage: axle config "));
}

TEST(RunCli, UnknownFlag) {
  const std::string line =
      "axle train: no such flag: --stpes; did you mean '--steps'?; see axle train --help\n";
  EXPECT_EQ(run_axle({"train", "quickstart", "--stpes", "5"}).err, line);
  EXPECT_EQ(run_axle({"train", "--stpes=5", "quickstart"}).err, line);
  EXPECT_EQ(run_axle({"train", "quickstart", "--stpes", "5"}).code, 2);
}

TEST(RunCli, TooManyArguments) {
  const Ran ran = run_axle({"config", "list", "everything"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle config list: expected no argument, got one too many: 'everything'; see axle "
            "config list --help\n");
}

TEST(RunCli, OneRecipe) {
  const Ran ran = run_axle({"params", "quickstart", "fuji-7B-v2"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle params: expected 1 argument (RECIPE), got one too many: 'fuji-7B-v2'; see axle "
            "params --help\n");
}

TEST(RunCli, MissingValueAndMissingFlag) {
  const Ran no_value = run_axle({"train", "quickstart", "--steps"});
  EXPECT_EQ(no_value.code, 2);
  EXPECT_EQ(no_value.err, "axle train: --steps: expected N, got nothing; see axle train --help\n");
  const Ran a_value = run_axle({"train", "quickstart", "--find-nan=2"});
  EXPECT_EQ(a_value.code, 2);
  EXPECT_EQ(a_value.err,
            "axle train: --find-nan: expected no value, got one; see axle train --help\n");
  const Ran ran = run_axle({"eval", "--from", "somewhere"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--data is required"));
  EXPECT_THAT(ran.err, Not(HasSubstr("terminate")));
}

TEST(RunCli, TrainingWithoutDataNamesTheFlag) {
  const TempDir dir;
  const Ran ran = run_axle({"train", "quickstart", "--dir", dir / "run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("REQUIRED but not set: input.source.path, "));
  EXPECT_THAT(ran.err, HasSubstr("; --data PATH names a file or folder of text, --data synthetic "
                                 "needs none\n"));
  const Ran other = run_axle({"train", "quickstart", "--data", "synthetic", "--dir", dir / "run",
                              "--set", "max_steps=REQUIRED"});
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "axle: REQUIRED but not set: max_steps; set each with --set or in a file\n");
}

TEST(RunCli, NumbersAreCheckedInOneLine) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& problem) {
    const std::string verb = "axle " + arguments[0];
    const Ran ran = run_axle(std::move(arguments));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, verb + ": " + problem + "; see " + verb + " --help\n");
  };
  const std::string huge = "99999999999999999999",
                    range =
                        "expected an integer from -9223372036854775808 to 9223372036854775807, ",
                    seeds = "expected an integer from 0 to 4294967295, ";
  for (const std::string count : {"0", "-3", "1025", "1000000"}) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"train", "quickstart"},
                                                  {"eval", "--from", "a", "--data", "b"}}) {
      const Ran ran = run_axle(joined(words, {"--devices", count}));
      EXPECT_EQ(ran.code, 2);
      EXPECT_EQ(ran.err,
                "axle: --devices: expected 1 to 1024 devices of one machine, got " + count + "\n");
    }
  }
  expect({"train", "quickstart", "--devices", huge}, "--devices: " + range + "got '" + huge + "'");
  expect({"train", "quickstart", "--devices", "all"}, "--devices: expected an integer, got 'all'");
  for (const std::string flag : {"--max-tokens", "--top-k", "--seed"}) {
    expect({"generate", "--from", "a", "--prompt", "b", flag, huge},
           flag + ": " + (flag == "--seed" ? seeds : range) + "got '" + huge + "'");
    expect({"generate", "--from", "a", "--prompt", "b", flag, "1.5"},
           flag + ": expected an integer, got '1.5'");
  }
  for (const std::string flag : {"--temperature", "--top-p"}) {
    expect({"generate", "--from", "a", "--prompt", "b", flag, "warm"},
           flag + ": expected a number, got 'warm'");
  }
  for (const std::string flag : {"--seed", "--key"}) {
    for (const std::string& seed : {huge, std::string("4294967296"), std::string("-1")}) {
      expect({"eval-layer", "a.yaml", "--inputs", "b", "--output", "c", flag + "=" + seed},
             flag + ": " + seeds + "got '" + seed + "'");
    }
  }
}

TEST(RunCli, WrongShell) {
  const Ran ran = run_axle({"completion", "fis"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle: SHELL: expected one of bash, zsh, fish, got 'fis'; did you mean 'fish'?\n");
}

struct ThrowOptions {
  std::string what;
};
const cli::Verb<ThrowOptions> throw_verb({
    .name = "test-throw",
    .help = "Fail as told",
    .add = [](CLI::App&, ThrowOptions&, cli::Output&) {},
    .run = [](const ThrowOptions&, cli::Output& out) -> ExitCode {
      out.write("before\n");
      static int calls = 0;
      switch (calls++) {
        case 0:
          throw StorageError("disk: full");
        case 1:
          throw DataError("text: bad");
        case 2:
          throw DeviceError("no memory", ExitCode::kDoesNotFit);
        case 3:
          throw InternalError("broken");
        case 4:
          throw std::bad_alloc();
        case 5:  // as std::thread throws it
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        default:
          throw std::runtime_error("odd");
      }
    },
});

TEST(RunCli, ErrorsBecomeOneLineAndTheirExitCode) {
  const std::pair<int, std::string> expected[] = {
      {4, "axle: disk: full\n"},
      {3, "axle: text: bad\n"},
      {6, "axle: no memory\n"},
      {1, "axle: broken [(]a bug of Axle[)]\n"},
      {6,
       "axle: host memory: expected enough for this command, got .* available of .*; take a "
       "smaller model or batch, or less text\n"},
      {5,
       "axle: the host: expected to start one more thread, got a refusal; raise the limit of "
       "processes [(]ulimit -u, or that of the container[)]\n"},
      {1, "axle: internal error: odd [(]a bug of Axle[)]\n"},
  };
  for (const auto& [code, line] : expected) {
    const Ran ran = run_axle({"test-throw"});
    EXPECT_EQ(ran.code, code);
    EXPECT_THAT(ran.err, ::testing::MatchesRegex(line));
    EXPECT_EQ(ran.out, "before\n");
  }
}

TEST(RunCli, EmptyPathsAreVisibleInMessages) {
  const auto error = [](const std::vector<std::string>& fields) {
    return run_axle(joined({"train", "quickstart", "--data", "nothing", "--backend", "interpreter",
                            "--steps", "1"},
                           set_flags(fields)))
        .err;
  };
  EXPECT_EQ(error({"input.source.path="}),
            "axle: input.source.path: expected a path, got an empty text\n");
  EXPECT_THAT(error({"input.tokenizer=Llama2cTokenizer", "input.tokenizer.path="}),
              ::testing::StartsWith("axle: input.tokenizer.path: expected a path, got an empty"));
  EXPECT_THAT(error({"input.tokenizer=Llama2cTokenizer", "input.tokenizer.path=s3://b/t.bin"}),
              ::testing::StartsWith("axle: input.tokenizer.path: expected a path of this machine, "
                                    "got 's3://b/t.bin'; s3:// is not supported"));
}

}  // namespace
}  // namespace axle
