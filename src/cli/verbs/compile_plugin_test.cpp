// Tests `axle compile`, and `axle train` with the executables that it has saved.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/needs_plugin.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Compile : public ::testing::Test {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  TempDir dir_;
};

TEST_F(Compile, ReportsAsJsonAndAsText) {
  const Ran json =
      run_axle({"compile", "fuji-test-v1", "--on", "cpu:8", "--mesh", "fsdp=8", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report.at("machine"), "cpu-8");
  EXPECT_EQ(report.at("mesh"), "fsdp=8");
  EXPECT_EQ(report.at("fits"), true);
  EXPECT_GT(report.at("memory").at("argument_bytes"), 0);
  EXPECT_GT(report.at("headroom_bytes"), 0);
  EXPECT_GT(report.at("flops"), 0);
  bool gathers = false;
  for (const auto& row : report.at("collectives"))
    gathers |= row.at("kind") == "all-gather" && row.at("axes") == nlohmann::json{"fsdp"};
  EXPECT_TRUE(gathers);

  const Ran text = run_axle({"compile", "fuji-test-v1", "--on", "cpu-2", "--mesh", "data=2"});
  EXPECT_THAT(text.out, StartsWith("fuji-test-v1 for cpu:2 (cpu-2), 2 devices as data=2\nfits: "));
  EXPECT_THAT(text.out, HasSubstr("all-reduce"));
  EXPECT_THAT(text.out,
              ::testing::ContainsRegex("by XLA of plugin 'cpu' \\(.*\\.so, PJRT [0-9.]+"));
}

TEST_F(Compile, ProgramThatDoesNotFitHasItsExitCode) {
  Arguments arguments = {"compile", "fuji-test-v1",
                         "--on",    "cpu:1",
                         "--mesh",  "",
                         "--set",   "input.batch_size=16777216"};
  const Ran ran = run_axle(arguments);
  EXPECT_EQ(ran.code, 6) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("does not fit: "));
  EXPECT_THAT(ran.out, HasSubstr("\nwhat to change: "));
  arguments.emplace_back("--no-advice");
  const Ran alone = run_axle(arguments);
  EXPECT_EQ(alone.code, 6) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("does not fit: "));
  EXPECT_THAT(alone.out, Not(HasSubstr("what to change"))) << "nothing is tried";
  EXPECT_THAT(alone.err, Not(HasSubstr("trying")));
}

// The flags of the report are given back: what they say fits does.
TEST_F(Compile, SuggestedChangeMakesTheProgramFit) {
  const auto compile = [](int64_t rows, const Arguments& more) {
    Arguments all = {"compile", "fuji-test-v1", "--on",
                     "cpu:1",   "--mesh",       "",
                     "--json",  "--set",        "input.batch_size=" + std::to_string(rows)};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run_axle(all);
    return std::pair(ran.code, nlohmann::json::parse(ran.out));
  };
  // Rows that need between two and four times the memory of this machine.
  int64_t rows = 1 << 14;
  const auto [code, small] = compile(rows, {"--no-advice"});
  ASSERT_EQ(code, 0);
  auto bytes = small.at("memory").at("temporary_bytes").get<double>();
  for (; bytes < 2 * small.at("device_memory_bytes").get<double>(); bytes *= 2) rows *= 2;

  const auto [refused, report] = compile(rows, {});
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(report.at("fits"), false);
  const auto& change = report.at("advice").at("change");
  EXPECT_EQ(change.at("fits"), true);
  Arguments flags = {"--no-advice"};
  for (const std::string flag : change.at("flags")) {
    ASSERT_THAT(flag, StartsWith("--set ")) << "a flag without quotes";
    flags.insert(flags.end(), {"--set", flag.substr(6)});
  }
  const auto [mended, fits] = compile(rows, flags);
  EXPECT_EQ(mended, 0);
  EXPECT_EQ(fits.at("fits"), true);
  EXPECT_EQ(fits.at("memory").at("total_bytes"), change.at("compiled_bytes"));
}

// A run compiles its evaluations before its first step, so that one that is too large ends it.
TEST_F(Compile, EvaluationsAreReportedWithTheStep) {
  const auto compile = [](const std::string& rows, const Arguments& more) {
    Arguments all = {
        "compile", "fuji-test-v1", "--on",  "cpu:2",
        "--mesh",  "data=2",       "--set", "evalers.held_out.input.batch_size=" + rows};
    all.insert(all.end(), more.begin(), more.end());
    return run_axle(all);
  };
  const Ran small = compile("2", {"--json"});
  ASSERT_EQ(small.code, 0) << small.err;
  const auto of = [](const Ran& ran) {
    return nlohmann::json::parse(ran.out).at("evaluations").at(0);
  };
  EXPECT_EQ(of(small).at("name"), "evalers.held_out");
  EXPECT_EQ(of(small).at("fits"), true);
  EXPECT_THAT(small.err, Not(HasSubstr("compiling evalers.held_out"))) << "less than the step";

  const Ran large = compile("16777216", {});
  EXPECT_EQ(large.code, 6) << large.err;
  EXPECT_THAT(large.out, HasSubstr("\nfits: ")) << "the step does";
  EXPECT_THAT(large.out, HasSubstr("\nevalers.held_out: does not fit: "));
  const Ran json = compile("16777216", {"--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out).at("fits"), false);
  const std::string change = of(json).at("change");
  ASSERT_THAT(change, StartsWith("--set evalers.held_out.input.batch_size="));
  EXPECT_THAT(large.out, HasSubstr("; " + change + " fits by proportion"));

  const Ran mended = compile(change.substr(change.find('=') + 1), {"--json"});
  EXPECT_EQ(mended.code, 0) << mended.out << mended.err;
  EXPECT_GT(of(mended).at("bytes"), 0);
}

TEST_F(Compile, MistakesInEvaluationsAreReportedBeforeCompiling) {
  const std::string file = dir_ / "step.axle";
  const Ran ran = run_axle({"compile", "fuji-test-v1", "--on", "cpu:4", "--mesh", "data=4",
                            "--save", file, "--set", "evalers.held_out.input.batch_size=6"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("axle: evalers.held_out: input_ids"));
  EXPECT_FALSE(path_exists(file));
}

TEST_F(Compile, SavedExecutablesRunWithoutCompiling) {
  const std::string file = dir_ / "step.axle";
  // The recipe's schedule is tied to the number of steps.
  const auto with = [](const char* verb, const Arguments& more) {
    return run_axle(
        joined({verb, "fuji-test-v1", "--on", "cpu:4", "--mesh", "data=4", "--steps", "2"}, more));
  };
  ASSERT_EQ(with("compile", {"--save", file}).code, 0);
  const Ran ran =
      with("train", {"--data", "synthetic", "--dir", dir_ / "run", "--executable", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out + ran.err, HasSubstr("loaded the step for 4 devices"));

  const Ran other = run_axle({"train", "fuji-test-v1", "--mesh", "fsdp=4", "--data", "synthetic",
                              "--steps", "2", "--dir", dir_ / "other", "--executable", file});
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("expected mesh 'fsdp=4', got an executable for 'data=4'"));
}

// XLA's CPU programs lose this order when they are serialised, and then wait for each other
// forever.
TEST_F(Compile, ProgramsThatWouldLoseTheirCollectiveOrderAreNotSaved) {
  const Ran ran = run_axle({"compile", "fuji-test-v1", "--on", "cpu:4", "--mesh", "fsdp=2,model=2",
                            "--save", dir_ / "step.axle"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.out, HasSubstr("fits: "));
  EXPECT_THAT(ran.err,
              HasSubstr("step.axle: expected data dependencies that order all collectives"));
  EXPECT_TRUE(list_directory(dir_.path()).empty());
}

TEST_F(Compile, UnwritableSavePathIsReportedBeforeCompiling) {
  const Ran ran = run_axle({"compile", "fuji-test-v1", "--on", "cpu:1", "--mesh", "", "--save",
                            dir_ / "missing/step.axle"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, HasSubstr("missing/step.axle"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(Compile, SaveNeedsARegularFile) {
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  for (const std::string& file : {dir_ / "fifo", std::string("/dev/full")}) {
    const Ran ran =
        run_axle({"compile", "fuji-test-v1", "--on", "cpu:1", "--mesh", "", "--save", file});
    EXPECT_EQ(ran.code, 4);
    EXPECT_THAT(ran.err, HasSubstr(file + ": expected a regular file, got a "));
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(Compile, FullDiskDoesNotLoseTheReport) {
  const FileSizeLimit full(1000);
  const Ran ran = run_axle(
      {"compile", "fuji-test-v1", "--on", "cpu:1", "--mesh", "", "--save", dir_ / "step.axle"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.out, HasSubstr("fits: "));
  EXPECT_THAT(ran.err, HasSubstr("step.axle"));
  EXPECT_TRUE(list_directory(dir_.path()).empty());
}

TEST_F(Compile, CompilerOptionsAreCheckedBeforeARun) {
  const auto check = [](const Arguments& more) {
    return run_axle(joined({"config", "check", "fuji-test-v1", "--data", "synthetic"}, more));
  };
  const Ran ran = check({"--set", "compiler_options.nonsense=1", "--set",
                         "compiler_options.xla_cpu_enable_fast_min_max=maybe", "--set",
                         "compiler_options.xla_cpu_enable_fast_math=false"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              HasSubstr("compiler option nonsense=1: expected one that plugin 'cpu' takes"));
  EXPECT_THAT(ran.err,
              HasSubstr("compiler option xla_cpu_enable_fast_min_max=maybe: expected one"));
  EXPECT_THAT(ran.err, ::testing::Not(HasSubstr("fast_math")));
  EXPECT_EQ(check({"--set", "compiler_options.xla_cpu_enable_fast_math=false"}).code, 0);
}

TEST_F(Compile, CompilerOptionsAreCheckedByThePlugin) {
  const Ran ran = run_axle({"compile", "fuji-test-v1", "--on", "cpu:1", "--mesh", "", "--set",
                            "compiler_options.xla_cpu_no_such_thing=true"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("xla_cpu_no_such_thing"));
  EXPECT_EQ(run_axle({"compile", "fuji-test-v1", "--on", "cpu:1", "--mesh", "", "--set",
                      "compiler_options.xla_cpu_enable_fast_min_max=false"})
                .code,
            0);
}

TEST(CompileErrors, ComeBeforeAnyPluginIsLookedFor) {
  const EnvironmentChange plugin("AXLE_PLUGIN_CUDA", "/nowhere/plugin.so");
  const auto error_of = [](const Arguments& arguments) {
    const Ran ran = run_axle(joined({"compile", "fuji-7B-v2"}, arguments));
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("--on: expected a target like"));
  EXPECT_THAT(error_of({"--on", "gpu-H10-8"}), HasSubstr("did you mean"));
  EXPECT_THAT(error_of({"--on", "gpu:h100:8x8", "--mesh", "data=3,fsdp=-1"}),
              HasSubstr("divide the 64 devices, got 3 for the axes other than fsdp"));
  EXPECT_THAT(error_of({"--on", "gpu:h100:8x8", "--mesh", "dat=64"}),
              HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(error_of({"--on", "gpu:h100:6x8", "--mesh", "fsdp=48"}),
              HasSubstr("dim 1 must be divisible by its mesh axes, got 4096 over fsdp=48"));
  // If the mesh has a layout, the message says what the state needs on each device; else only what
  // all devices have together.
  EXPECT_THAT(
      error_of({"--on", "gpu:h100:1x8", "--mesh", "fsdp=8", "--set", "input.batch_size=4"}),
      ::testing::ContainsRegex("; the training state is 73.9 GiB, [0-9.]+ GiB of it on each "
                               "device: it fits into 72.8 GiB"));
  EXPECT_THAT(error_of({"--on", "gpu:h100:1x8", "--mesh", "pipeline=8"}),
              HasSubstr("73.9 GiB of it on each device: it does not fit into 72.8 GiB"));
  for (const char* mesh : {"fsdp=3", "fsdp=-1,data=-1", "model=16", "dat=8"}) {
    EXPECT_THAT(error_of({"--on", "gpu:h100:1x8", "--mesh", mesh}),
                HasSubstr("the training state is 73.9 GiB, and this mesh has no layout for it; 8 "
                          "devices of 72.8 GiB have 582."))
        << mesh;
  }
  EXPECT_THAT(error_of({"--on", "gpu:h100:6x8", "--mesh", "fsdp=48"}),
              HasSubstr("and this mesh has no layout for it"));
  EXPECT_THAT(error_of({"--on", "tpu:v5e:2x2", "--mesh", "fsdp=3"}),
              HasSubstr("73.9 GiB: it does not fit: 4 devices of 15.8 GiB have 63.0 GiB in total"));
  EXPECT_THAT(run_axle({"compile", "fuji-7B-v2", "--on", "gpu:h100:1x8", "--mesh", "fsdp=8"}).err,
              HasSubstr("/nowhere/plugin.so"));
}

TEST_F(Compile, ReportsTheLimitsOfVirtualDevices) {
  const Arguments offload = set_flags({"model.decoder.layers.layer.@remat=SaveNames",
                                       "model.decoder.layers.layer.@remat.names=[gate]",
                                       "model.decoder.layers.layer.@remat.offload=[up]"});
  const Ran ran =
      run_axle(joined({"compile", "fuji-test-v1", "--on", "cpu:2", "--mesh", "data=2"}, offload));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ::testing::ContainsRegex(
                           "note: the 2 virtual devices share the [0-9.]+ GiB of this machine"));
  EXPECT_THAT(ran.out, HasSubstr("note: the step offloads 512.0 KiB to the host; a CPU device has "
                                 "no other memory than the host's, so nothing is moved\n"));
}

// A share of this machine's memory would say nothing.
TEST(CompileErrors, VirtualDevicesAreLimitedToThoseOfAMachine) {
  const Ran ran = run_axle({"compile", "fuji-test-v1", "--on", "cpu:100000"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "axle: --on cpu:100000: expected 1 to 1024 devices of one machine, got 100000\n");
}

// Else the report would cost what the config reads.
TEST_F(Compile, OutputMustNotBeReadByTheConfig) {
  make_directories(dir_ / "texts");
  for (const char* name : {"a.txt", "texts/b.txt"}) replace_file(dir_ / name, "text");
  const auto error = [](const Arguments& more) {
    const Ran ran = run_axle(joined({"compile", "quickstart", "--on", "cpu:1"}, more));
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const std::string text = dir_ / "a.txt", folder = dir_ / "texts", below = folder + "/b.txt";
  EXPECT_THAT(error({"--data", text, "--save", text}),
              HasSubstr("--save: expected a file that this command does not use otherwise, got " +
                        text + "; name another"));
  EXPECT_THAT(error({"--data", folder, "--save", below}),
              HasSubstr("that this command does not use otherwise"));
  EXPECT_EQ(read_file(text), "text");
  EXPECT_EQ(read_file(below), "text");
}

TEST(CompileErrors, JsonDescribesARefusedMesh) {
  const auto refused = [](const char* mesh) {
    const Ran ran = run_axle({"compile", "fuji-7B-v2", "--on", "gpu-B200-8", "--mesh", mesh,
                              "--set", "input.batch_size=4", "--json"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("the training state is 73.9 GiB"));
    return nlohmann::json::parse(ran.out);
  };
  const auto eight = refused("fsdp=8");
  EXPECT_EQ(eight.at("machine"), "gpu-B200-8");
  EXPECT_EQ(eight.at("mesh"), "fsdp=8");
  EXPECT_EQ(eight.at("fits"), nullptr) << "the state does, the program is not known";
  EXPECT_EQ(eight.at("training_state").at("fits"), true);
  const double bytes = eight.at("training_state").at("bytes");
  EXPECT_TRUE(eight.at("training_state").at("bytes").is_number_integer());
  EXPECT_TRUE(eight.at("training_state").at("bytes_per_device").is_number_integer());
  EXPECT_GE(eight.at("training_state").at("bytes_per_device"), bytes / 8);
  EXPECT_LT(eight.at("training_state").at("bytes_per_device"), bytes / 6);
  EXPECT_THAT(eight.at("refused").get<std::string>(), HasSubstr("must be divisible"));
  EXPECT_EQ(refused("fsdp=3").at("training_state").at("bytes_per_device"), nullptr);
}

TEST_F(Compile, ReportsTheMeshRuleOrItsAbsence) {
  const auto run_with = [](const char* rules) {
    return std::vector<std::string>{
        "compile", "fuji-test-v1", "--on",  "cpu-2",
        "--mesh",  "data=2",       "--set", std::string("mesh_rules=") + rules};
  };
  EXPECT_THAT(run_axle(run_with("[{machine: cpu-.*}]")).out,
              HasSubstr("2 devices as data=2\nmesh rule cpu-.* for cpu-2\nfits: "));
  auto unmatched = run_with("[{machine: gpu-.*}, {machine: tpu-.*}]");
  unmatched.push_back("--json");
  const auto json = nlohmann::json::parse(run_axle(unmatched).out);
  EXPECT_EQ(json.at("mesh_rule"), nullptr);
  EXPECT_EQ(json.at("unmatched_mesh_rules"), (nlohmann::json{"gpu-.*", "tpu-.*"}));
}

TEST(CompileErrors, NameTheMeshRule) {
  const auto printed = [](const char* machine) {
    const Ran ran = run_axle({"compile", "fuji-7B-v2", "--on", machine, "--mesh", "fsdp=3"});
    EXPECT_EQ(ran.code, 2);
    return ran.out;
  };
  EXPECT_THAT(printed("gpu-B200-16"), StartsWith("no mesh rule matches gpu-B200-16; "));
  EXPECT_THAT(printed("gpu-H100-8"), ::testing::MatchesRegex("mesh rule gpu-.* for gpu-H100-8\n"));
  const Ran json =
      run_axle({"compile", "fuji-7B-v2", "--on", "gpu-H100-8", "--mesh", "fsdp=3", "--json"});
  EXPECT_THAT(nlohmann::json::parse(json.out).at("mesh_rule").get<std::string>(),
              StartsWith("gpu-"));
}

}  // namespace
}  // namespace axle
