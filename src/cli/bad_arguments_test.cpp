// Passes nonsensical texts to every argument of every verb: none of them may cause an internal
// error.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <set>

#include "base/text/text.h"
#include "cli/arguments/options.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "cli/run_test.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "interop/model_folder.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The exit codes for mistakes of a user, and 0 for a text that happens to be valid.
const auto kExpectedCodes = AnyOf(0, 2, 3, 4, 5, 6, 7, 17);

class BadArguments : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    save_byte_model(dir_ / "model", chain_model({{'a', 'b'}}, 260));
    replace_file(dir_ / "text.txt", "some text of a few bytes\n");
    replace_file(dir_ / "layer.yaml", kLinearLayer);
    replace_file(dir_ / "op.yaml", "function: neg\ninputs: {x: [1, 2]}\n");
    save_safetensors(dir_ / "negative.safetensors", {{"out0", HostTensor({2}, {-1.0f, -2.0f})}});
    save_safetensors(dir_ / "in.safetensors", {{"in/x", HostTensor({1, 2}, {1.0f, 2.0f})}});
    save_safetensors(dir_ / "reference.safetensors", {{"out", HostTensor({1, 1}, {1.0f})}});
    replace_file(dir_ / "tokens.json", read_file(reference_file("tokenizers/bytes_first.json")));
    replace_file(dir_ / "which.yaml",
                 "recipe: quickstart\nset:\n  evalers: {}\n  input.split: all\n  input.seq_len: 8\n"
                 "  input.source.path: " +
                     (dir_ / "text.txt") + "\n");
    make_directories(dir_ / "folder");
    // Some of the texts are valid names of files, which the verbs then create here.
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(dir_.path());
    replace_file(dir_ / "noise", std::string("\xff\xfe\0{[\x01", 6));
  }

  void TearDown() override { std::filesystem::current_path(before_); }

  // Returns a valid command, which ends quickly with any number of steps.
  std::vector<std::string> good(const std::string& verb) const {
    const Arguments recipe =
        joined({"quickstart", "--data", "synthetic"},
               set_flags({"model.decoder.model_dim=8", "model.decoder.layers.num_layers=1",
                          "input.seq_len=16", "evalers={}"}));
    const Arguments training = joined(recipe, {"--set", "input.num_batches=1", "--steps", "1",
                                               "--dir", dir_ / "run", "--backend", "interpreter"});
    // Its plugin is on no machine of ours: the command ends where it would compile.
    const Arguments compiling =
        joined(recipe, {"--on", "neuron-trn2.48xlarge-16", "--mesh", "data=16", "--set",
                        "input.batch_size=16", "--save", dir_ / "saved"});
    const std::string model = dir_ / "model";
    static int num_calls = 0;
    const std::string new_folder = dir_ / fmt::format("new{}", num_calls++);
    const std::map<std::string, Arguments> commands = {
        {"checkpoint export", {model, dir_ / "out.safetensors"}},
        {"checkpoint ls", {model}},
        {"checkpoint merge", {model, "--dir", dir_ / "merged"}},
        {"compile", compiling},
        {"completion", {"bash"}},
        {"config check", recipe},
        {"config describe", {"AdamW"}},
        {"config diff", {"quickstart", "fuji-test-v1"}},
        {"config list", {}},
        {"config show", recipe},
        {"data build",
         {dir_ / "text.txt", "--tokenizer", dir_ / "tokens.json", "--out", dir_ / "built"}},
        {"data inspect", {reference_file("token_files/u8")}},
        {"data verify", {reference_file("token_files/u8")}},
        {"data which", {dir_ / "which.yaml", "--step", "1"}},
        {"doctor", {}},
        {"eval", {"--from", model, "--data", dir_ / "text.txt", "--backend", "interpreter"}},
        {"eval-layer",
         {dir_ / "layer.yaml", "--inputs", dir_ / "in.safetensors", "--seed", "1", "--output",
          dir_ / "out.safetensors", "--compare", dir_ / "reference.safetensors", "--tolerance",
          "1e9", "--backend", "interpreter"}},
        {"eval-op",
         {dir_ / "op.yaml", "--output", dir_ / "out.safetensors", "--compare",
          dir_ / "negative.safetensors", "--tolerance", "1e9", "--backend", "interpreter"}},
        {"generate",
         {"--from", model, "--prompt", "a", "--max-tokens", "2", "--backend", "interpreter"}},
        {"export", {model, "--out", dir_ / "exported"}},
        {"graph", recipe},
        {"import", {dir_ / "noise", "--tokenizer", dir_ / "noise", "--out", dir_ / "new"}},
        {"params", recipe},
        {"plugin fetch", {"nowhere"}},
        {"runs", {dir_ / "model"}},
        {"tokenize count", {dir_ / "tokens.json", "--data", dir_ / "text.txt"}},
        {"tokenize decode", {dir_ / "tokens.json", "--ids", "1 2"}},
        {"tokenize encode", {dir_ / "tokens.json", "--text", "a"}},
        {"tokenize inspect", {dir_ / "tokens.json"}},
        {"tokenizer train", {dir_ / "text.txt", "--out", new_folder, "--vocab-size", "270"}},
        {"train", training},
    };
    const auto it = commands.find(verb);
    EXPECT_NE(it, commands.end()) << verb << ": give this table a good command";
    std::vector<std::string> out;
    for (const std::string_view word : split(verb, ' ')) out.emplace_back(word);
    return it == commands.end() ? out : joined(out, it->second);
  }

  // Returns the good command with this value of a flag.
  std::vector<std::string> good_with(const CLI::Option& option, const std::string& value) const {
    Arguments out = replaced(good(GetParam()), {option.get_name(), value});
    out.resize(out.size() - 2);
    out.push_back(option.get_name() + "=" + value);  // a value may begin with "-"
    return out;
  }
  static bool may_repeat(const CLI::Option& option) {
    return option.get_expected_max() > 1 ||
           option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  }

  std::vector<std::string> bad_texts() const {
    return {"",
            " ",
            "=",
            "-1",
            "0",
            "nan",
            "-inf",
            "9223372036854775807",
            "99999999999999999999",
            "1e999",
            "\xff\xfe",
            "a\nb",
            "\xe2\x80\xae\xf0\x9f\x92\xa5",
            "{",
            "a=\xff",
            "model.decoder.model_dim=",
            "model=2,model=2",
            "data=-1,fsdp=-1",
            "data=4611686018427387904,fsdp=4",
            std::string(5000, 'x'),
            dir_ / "folder",
            dir_ / "noise",
            dir_ / "text.txt/under_a_file",
            "/dev/null",
            "/proc/self/mem"};
  }

  void expect_told(const std::vector<std::string>& arguments, const std::string& what) {
    const Ran ran = run_axle(arguments);
    EXPECT_THAT(ran.code, kExpectedCodes) << what << "\n" << ran.err;
    EXPECT_THAT(ran.err, Not(AnyOf(HasSubstr("bug of Axle"), HasSubstr("internal error")))) << what;
    if (ran.code != 0) {
      EXPECT_NE(ran.err, "") << what;
    }
    remove_tree(dir_ / "run");
    remove_tree(dir_ / "new");
  }
  TempDir dir_;
  std::filesystem::path before_;
};

// Returns the options of a verb.
const CLI::App& app_of(const CLI::App& program, const std::string& verb) {
  const CLI::App* app = &program;
  for (const std::string_view word : split(verb, ' ')) app = app->get_subcommand(std::string(word));
  return *app;
}

// Without --yes, a verb would ask on a terminal, which may not exist, whether to fetch a missing
// plugin.
TEST_P(BadArguments, VerbsThatRunProgramsTakeYesAndCompileCache) {
  cli::Output out;
  const cli::CommandLine program(out);
  const CLI::App& app = app_of(program.app(), GetParam());
  if (!app.get_option_no_throw("--backend")) return;
  for (const char* flag : {"--yes", "--compile-cache"})
    EXPECT_NE(app.get_option_no_throw(flag), nullptr) << GetParam() << " " << flag;
}

// If the command were wrong, the other tests would only repeat one error.
TEST_P(BadArguments, ReferenceCommandHasItsExpectedExitCode) {
  const Ran ran = run_axle(good(GetParam()));
  // Verbs that would compile, fetch or convert for a long time get an invalid last argument.
  const std::map<std::string, int> others = {
      {"checkpoint merge", 2}, {"compile", 5}, {"import", 3}, {"plugin fetch", 2}};
  const auto it = others.find(GetParam());
  if (GetParam() != "doctor") {
    EXPECT_EQ(ran.code, it == others.end() ? 0 : it->second) << ran.err;
  }
}

TEST_P(BadArguments, EveryFlag) {
  cli::Output out;
  const cli::CommandLine program(out);
  const CLI::App& app = app_of(program.app(), GetParam());
  const bool json = app.get_option_no_throw("--json") != nullptr;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (option->get_items_expected_max() == 0) continue;
      for (const std::string& text : bad_texts()) {
        std::vector<std::string> arguments = good_with(*option, text);
        if (json) arguments.emplace_back("--json");
        expect_told(arguments, fmt::format("{} --{} '{}'", GetParam(), name, text.substr(0, 40)));
      }
    }
  }
}

TEST_P(BadArguments, LeadingZerosDoNotMakeNumbersOctal) {
  cli::Output out;
  const cli::CommandLine program(out);
  for (const CLI::Option* option : app_of(program.app(), GetParam()).get_options()) {
    if (option->get_type_name().size() != 1) continue;  // only N, K, T, P
    const auto run = [&](const std::string& number) {
      const std::vector<std::string> arguments = good_with(*option, number);
      const Ran ran = run_axle(arguments);
      remove_tree(dir_ / "run");
      return ran;
    };
    for (const std::string number : {"8", "10"}) {
      const Ran plain = run(number), padded = run("0" + number);
      const std::string what = option->get_name() + " " + number + "\n" + padded.err;
      EXPECT_EQ(padded.code, plain.code) << what;
      EXPECT_THAT(padded.err, Not(AnyOf(HasSubstr("an integer"), HasSubstr("convert")))) << what;
      if (GetParam() == "generate") {
        EXPECT_EQ(padded.out, plain.out) << what;
      }
    }
  }
}

TEST_P(BadArguments, EveryWordItself) {
  const size_t verb_words = split(GetParam(), ' ').size();
  const std::vector<std::string> words = good(GetParam());
  for (size_t i = verb_words; i < words.size(); ++i) {
    if (words[i].starts_with("--")) continue;
    for (const std::string& text : bad_texts()) {
      std::vector<std::string> arguments = words;
      arguments[i] = text;
      expect_told(arguments,
                  fmt::format("{}: argument {} '{}'", GetParam(), i, text.substr(0, 40)));
    }
    std::vector<std::string> fewer = words;
    fewer.resize(i);
    expect_told(fewer, fmt::format("{}: only {} words", GetParam(), i));
  }
}

// What is on other machines is no folder here: no argument makes one called "s3:".
TEST_P(BadArguments, NoArgumentMakesAFolderOfAnUrl) {
  const std::string url = "s3://b/x";
  cli::Output out;
  const cli::CommandLine program(out);
  const auto expect_none = [&](const Arguments& arguments, const std::string& what) {
    expect_told(arguments, what);
    EXPECT_FALSE(path_exists("s3:")) << what;
    remove_tree("s3:");
  };
  for (const CLI::Option* option : app_of(program.app(), GetParam()).get_options()) {
    const std::string name = option->get_name();
    const bool is_number = option->get_type_name().size() == 1;
    if (!name.starts_with("--") || option->get_items_expected_max() == 0 || is_number) continue;
    const Arguments one = good_with(*option, url);
    expect_none(one, GetParam() + " " + name);
    if (!cli::is_path(*option)) continue;
    EXPECT_THAT(run_axle(one).err, HasSubstr("s3:// is not supported")) << GetParam() << name;
  }
  const Arguments words = good(GetParam());
  for (size_t i = split(GetParam(), ' ').size(); i < words.size(); ++i) {
    if (words[i].starts_with("--")) continue;
    Arguments one = words;
    one[i] = url;
    expect_none(one, fmt::format("{}: argument {}", GetParam(), i));
  }
}

// No value is lost: a flag takes all that it is given, or refuses the second.
TEST_P(BadArguments, RepeatedFlagsKeepAllValuesOrAreRefused) {
  static const std::set<std::string> kRepeatable = {"--config",
                                                    "--set",
                                                    "--modify",
                                                    "--data",
                                                    "--init-part",
                                                    "--on of config diff",
                                                    "--only of eval-op",
                                                    "--only of eval-layer",
                                                    "--tolerance of eval-layer",
                                                    "--ignore",
                                                    "--task of eval",
                                                    "--special of tokenizer train",
                                                    "--function"};
  cli::Output out;
  const cli::CommandLine program(out);
  for (const CLI::Option* option : app_of(program.app(), GetParam()).get_options()) {
    const std::string name = option->get_name();
    if (!name.starts_with("--") || option->get_items_expected_max() == 0) continue;
    const bool is_listed =
        kRepeatable.contains(name) || kRepeatable.contains(name + " of " + GetParam());
    EXPECT_EQ(may_repeat(*option), is_listed) << GetParam() << " " << name;
    if (may_repeat(*option)) continue;
    // One of these is a value of the flag.
    bool is_told = false;
    for (const char* value : {"1", "data=1", "cpu-2", "keep", "bf16", "2x2", "none", "sum", "line",
                              "skip", "hf", "bytes", "gpt2", "all"}) {
      const Ran ran = run_axle(joined(good_with(*option, value), {name + "=" + value}));
      EXPECT_NE(ran.code, 0) << GetParam() << " " << name;
      is_told |= ran.code == 2 && ran.err.find("expected " + name + " once") != ran.err.npos;
    }
    EXPECT_TRUE(is_told) << GetParam() << " " << name;
  }
}

TEST_P(BadArguments, EveryFlagTwiceAndAllAtOnce) {
  cli::Output out;
  const cli::CommandLine program(out);
  std::vector<std::string> all = good(GetParam());
  for (const CLI::Option* option : app_of(program.app(), GetParam()).get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name == "help" || name == "yes") continue;  // --yes would fetch missing plugins
      const bool is_flag = option->get_items_expected_max() == 0;
      all.push_back(is_flag ? "--" + name : "--" + name + "=1");
      expect_told(joined(good(GetParam()), {all.back(), all.back()}),
                  GetParam() + " " + all.back() + " twice");
    }
  }
  expect_told(all, GetParam() + " with everything");
}

// Sizes beyond any machine are refused at once, as a mistake or because the host has less memory.
// Nothing is done before.
TEST(HugeSizes, AreRefusedBeforeAnythingIsDone) {
  const TempDir dir;
  replace_file(dir / "text.txt", std::string(50000, 'x'));
  using Clock = std::chrono::steady_clock;
  // For each flag: the path of the field that was set, or of the largest tensor that depends on it,
  // with its bytes.
  const std::pair<std::string, std::string> kFields[] = {
      {"--set=model.decoder.model_dim=",
       R"(model\.decoder\.[a-z0-9_.]+: f32\[.*\] takes .* bytes)"},
      {"--set=model.decoder.vocab_size=",
       R"(model\.decoder\.emb\.weight(: f32\[.*\] takes .* bytes| [0-9.]+ [GT]iB alone))"},
      {"--set=model.decoder.layers.num_layers=", R"(axle: model\.decoder\.layers\.num_layers: )"},
      {"--set=input.seq_len=", "axle: input: .* rows of seq_len [0-9]+, which are .* bytes"},
      {"--set=input.batch_size=", "axle: input: .* got batch_size [0-9]+ rows .* bytes"},
      {"--set=input.epochs=", R"(axle: input\.epochs: )"},
      {"--set=model.decoder.layers.layer.feed_forward.body.hidden_dim.multiple_of=",
       R"(layer\.feed_forward\.body\.hidden_dim: .*multiple_of|layer0\.feed_forward\.body\.[a-z0-9_.]+ [0-9.]+ [GT]iB alone)"},
      {"--set=model.decoder.layers.layer.attention.body.num_heads=",
       R"(attention\.body\.num_(kv_)?heads: must divide)"},
      {"--mesh=data=", "axle: mesh: expected "},
      {"--devices=", "axle: --devices: expected 1 to "}};
  for (const auto& [flag, told] : kFields) {
    for (const char* size : {"1000000000", "9223372036854775807"}) {
      double least_secs = 1e9;  // minimum over runs, as other processes may interfere
      for (int i = 0; i < 3 && least_secs >= 1; ++i) {
        const Clock::time_point begin = Clock::now();
        const Ran ran = run_axle({"train", "quickstart", "--data", dir / "text.txt", "--dir",
                                  dir / "run", "--backend", "interpreter", "--steps", "1", "--set",
                                  "evalers={}", flag + size});
        least_secs =
            std::min(least_secs, std::chrono::duration<double>(Clock::now() - begin).count());
        const std::string what = flag + size + "\n" + ran.err;
        EXPECT_THAT(ran.code, AnyOf(2, 6)) << what;
        EXPECT_THAT(ran.err, ::testing::ContainsRegex(told)) << what;
        EXPECT_FALSE(path_exists(dir / "run")) << what;
      }
      EXPECT_LT(least_secs, 1) << flag << size;
    }
  }
}

// The mesh is checked before anything is made of it.
TEST(HugeSizes, MeshesTooLargeAreConfigErrors) {
  for (const char* mesh : {"data=1000000000", "data=1000000000,fsdp=1000000000",
                           "replica:data=1000000000,data=1000000000"}) {
    const Ran ran =
        run_axle({"config", "check", "quickstart", "--data", "synthetic", "--mesh", mesh});
    EXPECT_EQ(ran.code, 2) << mesh;
    EXPECT_THAT(ran.err, HasSubstr("must be divisible by its mesh axes")) << mesh;
  }
}

struct Line {
  std::vector<std::string> words;
  int code;
  std::string says;  // text on either stream
};

class BadLines : public BadArguments {};

TEST_F(BadLines, HaveTheExpectedCodeAndMessage) {
  const std::string model = dir_ / "model", huge = "99999999999999999999";
  const auto generate = [&](const Arguments& more) {
    return replaced({"generate", "--from", model, "--backend", "interpreter"}, more);
  };
  const Line lines[] = {
      {generate({"--prompt", ""}), 0, "tokens (context_end)"},
      {generate({"--prompt", "\xff"}), 2, "prompt: expected UTF-8, got an invalid byte at byte 1"},
      {generate({"--prompt", "\xff", "--json"}), 2, "prompt: expected UTF-8"},
      {generate({"--prompt", std::string(500, 'a')}), 2, "the model's context of 20, got 501"},
      {generate({"--prompt", "a", "--max-tokens", "0"}), 2,
       "axle: --max-tokens: expected at least 1, got 0"},
      {generate({"--prompt", "a", "--max-tokens", "9223372036854775807"}), 0, "(context_end)"},
      {generate({"--prompt", "a", "--max-tokens", huge}), 2, "--max-tokens: expected an integer"},
      {generate({"--prompt", "a", "--temperature", "nan"}), 2, "temperature"},
      {generate({"--prompt", "a", "--temperature", "-1"}), 2, "axle: --temperature: expected 0 or"},
      {generate({"--prompt", "a", "--temperature", "1e999"}), 2, "--temperature"},
      {generate({"--prompt", "a", "--temperature", "1e-300"}), 2, "fits into 32 bits"},
      {generate({"--prompt", "a", "--top-k", "0"}), 2, "axle: --top-k: expected at least 1, got 0"},
      {generate({"--prompt", "a", "--top-p", "2"}), 2,
       "axle: --top-p: expected more than 0 and at most 1"},
      {generate({"--prompt", "a", "--seed", huge}), 2, "--seed: expected an integer from"},
      {generate({"--prompt", "a", "--from", ""}), 2, "--from: expected a path, got an empty text"},
      {generate({"--prompt", "a", "--from", dir_ / "text.txt"}), 2,
       "text.txt: expected the folder"},
      {generate({"--prompt", "a", "--from", dir_ / "folder"}), 2, "one without config.yaml"},
      {generate({}), 2, "--prompt is required"},
      {{"eval", "--from", model, "--data", ""}, 2, "--data: expected a path, got an empty text"},
      // The next argument is no value of "--flag=".
      {{"eval", "--from", model, "--data=", "--json"},
       2,
       "--data: expected a path, got an empty text"},
      {{"train", "quickstart", "--data", "synthetic", "--dir=", "--force"},
       2,
       "--dir: expected a path, got an empty text"},
      {{"eval", "--from", model, "--data", dir_ / "noise", "--backend", "interpreter"}, 3, "UTF-8"},
      {{"eval", "--from", model, "--data", dir_ / "text.txt", "--backend", "interpreter", "--mesh",
        "modle=2"},
       2,
       "mesh.modle"},
      {{"eval", "--from", model, "--data", dir_ / "text.txt", "--backend", "none"}, 2, "none"},
      {{"config", "show", "quickstart", "--json", "--yaml"}, 2, "--json excludes --yaml"},
      {{"config", "show", "quickstart", "--set", "=1"}, 2, "--set: expected PATH=VALUE, got '=1'"},
      {{"config", "show", "quickstart", "--config", ""}, 2, "--config: expected a path"},
      {{"eval", "--from", model, "--data", "\xff"}, 3, "\\xff: expected a text file or a folder"},
      {{"train", "quickstart", "--data", "synthetic", "--dir", "s3://b/run"},
       2,
       "--dir: expected a path of this machine, got 's3://b/run'"},
      {{"eval", "--from", "gs://b/run", "--data", "synthetic"},
       2,
       "--from: expected a path of this"},
      {{"checkpoint", "ls", "hdfs://a"}, 2, "DIR: expected a path of this machine"},
      {{"train", "quickstart", "--data", "synthetic", "--data", dir_ / "text.txt"},
       2,
       "--data: expected paths, or 'synthetic' alone, got both"},
      {{"train", "quickstart", "--data", "synthetic", "--dir", ""}, 2, "--dir: expected a path"},
      {{"import", dir_ / "noise", "--tokenizer", dir_ / "noise", "--out", ""},
       2,
       "--out: expected a path, got an empty text"},
      {{"checkpoint", "ls", ""}, 2, "DIR: expected a path, got an empty text"},
      {{"checkpoint", "export", model, dir_ / "folder"}, 4, "folder: cannot write a file"},
      {{"completion", ""}, 2, "SHELL: expected one of bash, zsh, fish"},
  };
  for (const Line& line : lines) {
    const Ran ran = run_axle(line.words);
    const std::string what = join(line.words, " ");
    EXPECT_EQ(ran.code, line.code) << what << "\n" << ran.err;
    EXPECT_THAT(ran.out + ran.err, HasSubstr(line.says)) << what;
    if (ran.code != 0) {
      EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << what << "\n" << ran.err;
    }
  }
}

std::vector<std::string> verb_names() {
  std::vector<std::string> out;
  for (const cli::AnyVerb& verb : cli::verbs()) {
    if (!verb.name.starts_with("test-")) out.emplace_back(verb.name);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, BadArguments, ::testing::ValuesIn(verb_names()), kNamedByText);

}  // namespace
}  // namespace axle
