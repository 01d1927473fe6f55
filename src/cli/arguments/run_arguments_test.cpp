// The flags of verbs that run programs, load models, draw tokens and read checkpoints.
#include <gmock/gmock.h>

#include "cli/arguments/model_arguments.h"
#include "cli/arguments/parse_test.h"
#include "testing/error_of.h"

namespace axle::cli {
namespace {

template <class Arguments>
std::string error_of_words(const std::vector<std::string>& words) {
  Arguments arguments;  // options write to it while words are parsed
  return parse_error([&](CLI::App& app) { arguments.add_to(app); }, words);
}

TEST(RuntimeArguments, DevicesDefaultToTheSizeOfTheMesh) {
  RuntimeArguments arguments;
  EXPECT_EQ(arguments.runtime_options().num_devices, 1);
  parse([&](CLI::App& app) { arguments.add_mesh_to(app); }, {"--mesh", "data=2,model=3"});
  EXPECT_EQ(arguments.runtime_options().num_devices, 6);
  arguments.num_devices = 8;
  EXPECT_EQ(arguments.runtime_options().num_devices, 8);
  EXPECT_EQ(arguments.runtime_options().backend, "cpu");
}

TEST(RuntimeArguments, RefusesNoDevices) {
  RuntimeArguments arguments;
  const auto add = [&](CLI::App& app) { arguments.add_to(app); };
  EXPECT_EQ(parse_error(add, {"--devices", "0"}),
            "--devices: expected 1 to 1024 devices of one machine, got 0");
  EXPECT_EQ(parse_error(add, {"--devices", "two"}), "--devices: expected an integer, got 'two'");
  parse(add, {"--devices", "2", "--compile-cache", "none"});
  EXPECT_EQ(arguments.num_devices, 2);
  EXPECT_EQ(arguments.compile_cache, "");
}

TEST(SamplingArguments, SamplingFlagsSetTheTemperature) {
  const auto options = [](const std::vector<std::string>& words) {
    GenerateOptions out;
    parsed<SamplingArguments>(words).apply_to(out);
    return out;
  };
  EXPECT_EQ(options({}).sampling.temperature, 0);
  EXPECT_EQ(options({"--top-k", "3"}).sampling.temperature, 1);
  EXPECT_EQ(options({"--top-k", "3"}).sampling.top_k, 3);
  EXPECT_EQ(options({"--seed", "7"}).seed, 7);
  EXPECT_EQ(options({"--seed", "7"}).sampling.temperature, 1);
  EXPECT_EQ(options({"--temperature", "0.5", "--top-p", "0.9"}).sampling.temperature, 0.5);
}

TEST(SamplingArguments, MistakesNameTheFlag) {
  const auto error = [](const std::vector<std::string>& words) {
    return error_of([&] {
      GenerateOptions out;
      parsed<SamplingArguments>(words).apply_to(out);
    });
  };
  EXPECT_EQ(error({"--top-k", "0"}), "--top-k: expected at least 1, got 0");
  EXPECT_EQ(error({"--top-p", "2"}), "--top-p: expected more than 0 and at most 1, got 2");
  EXPECT_EQ(error({"--temperature", "0", "--top-k", "3"}),
            "--temperature: expected more than 0 with --top-k, --top-p or --seed, got 0, which "
            "disables sampling");
  EXPECT_EQ(with_flag("max_tokens: expected 1, got 0"), "--max-tokens: expected 1, got 0");
  EXPECT_EQ(with_flag("prompt: expected a text"), "prompt: expected a text");
}

TEST(CheckpointArguments, SelectOneKindOfWeights) {
  const auto selected = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    return parsed<CheckpointArguments>(words).selection();
  };
  EXPECT_EQ(selected({}).weights, Weights::kTrained);
  EXPECT_EQ(selected({"--ema"}).weights, Weights::kAverage);
  EXPECT_EQ(selected({"--state"}).weights, std::nullopt) << "all of the training state";
  EXPECT_EQ(selected({"--step", "4", "--only", "decoder/**"}).step, 4);
  EXPECT_EQ(selected({"--only", "decoder/**"}).only, "decoder/**");
  EXPECT_EQ(error_of_words<CheckpointArguments>({"run", "--state", "--ema"}),
            "--ema excludes --state");
}

TEST(ModelArguments, NeedAFolder) {
  EXPECT_EQ(parsed<ModelArguments>({"--from", "run"}).dir, "run");
  EXPECT_EQ(parsed<ModelArguments>({"--from", "run"}).weights(), Weights::kTrained);
  EXPECT_EQ(parsed<ModelArguments>({"--from", "run", "--ema"}).weights(), Weights::kAverage);
  EXPECT_EQ(error_of_words<ModelArguments>({}), "--from is required");
}

}  // namespace
}  // namespace axle::cli
