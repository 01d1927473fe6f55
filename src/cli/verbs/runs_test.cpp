// Tests `runs` on folders of runs.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class Runs : public ::testing::Test {
 protected:
  void SetUp() override {
    make_run("a", 0.5,
             "{\"step\":1,\"loss\":3.0,\"tokens_per_sec\":10.0,\"wall_secs\":1.0}\n"
             "{\"step\":2,\"loss\":1.5,\"tokens_per_sec\":30.0,\"wall_secs\":2.0}\n"
             "{\"step\":2,\"split\":\"held_out\",\"loss\":2.5,\"wall_secs\":2.5}\n"
             "# a note of mine\n"
             "{\"step\":3,\"loss\":2.0,\"tokens_per_sec\":20.0,\"wall_secs\":3.5}\n"
             "{\"step\":3,\"split\":\"held_out\",\"loss\":2.75,\"wall_secs\":90.0}\n");
    make_run("b", 0.25, "{\"step\":1,\"loss\":null,\"tokens_per_sec\":7.0,\"wall_secs\":1.0}\n");
    make_directories(dir_ / "runs/no_run");
  }
  void make_run(const std::string& name, double rate, const std::string& metrics) {
    make_directories(run(name));
    replace_file(run(name) + "/metrics.jsonl", metrics);
    replace_file(run(name) + "/config.yaml",
                 "model: {class: CausalLM, dims: [1, 2]}\nlearner:\n  class: Learner\n  rate: " +
                     std::to_string(rate) + "\n" + (name == "b" ? "seed: 3\n" : ""));
  }
  std::string run(const std::string& name) const { return (dir_ / "runs") + "/" + name; }
  TempDir dir_;
};

TEST_F(Runs, AreListedSideBySide) {
  const Ran text = run_axle({"runs", dir_ / "runs"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("best held_out"));
  EXPECT_THAT(text.out, HasSubstr("1.5000 at 2"));
  EXPECT_THAT(text.out, HasSubstr("2.5000 at 2"));
  EXPECT_THAT(text.out, HasSubstr("learner.rate"));
  const Ran ran = run_axle({"runs", run("b"), run("a"), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json json = Json::parse(ran.out), &b = json["runs"][0], &a = json["runs"][1];
  EXPECT_EQ(a["dir"], run("a"));
  EXPECT_EQ(a["step"], 3);
  EXPECT_EQ(a["loss"], Json::parse(R"({"last": 2.0, "best": 1.5, "best_step": 2})"));
  EXPECT_EQ(a["evaluations"]["held_out"],
            Json::parse(R"({"last": 2.75, "best": 2.5, "best_step": 2})"));
  EXPECT_EQ(a["tokens_per_sec"], 20.0);
  EXPECT_EQ(a["wall_secs"], 90.0);
  EXPECT_EQ(b["loss"], Json::parse(R"({"last": null, "best": null, "best_step": null})"));
  EXPECT_EQ(b["wall_secs"], 1.0);
  const Json expected = {{"learner.rate", {"0.250000", "0.500000"}}, {"seed", {"3", "(none)"}}};
  EXPECT_EQ(json["differences"], expected);
}

TEST_F(Runs, OneRunHasNoDifferences) {
  EXPECT_EQ(run_axle({"runs", run("a")}).out.find("field"), std::string::npos);
  std::filesystem::copy(run("a"), run("c"), std::filesystem::copy_options::recursive);
  EXPECT_THAT(run_axle({"runs", run("a"), run("c")}).out, HasSubstr("the configs are equal\n"));
}

TEST_F(Runs, ARunWithoutRecordsIsReported) {
  std::filesystem::copy(run("a"), run("c"), std::filesystem::copy_options::recursive);
  const std::string metrics = run("c") + "/metrics.jsonl";
  for (const std::string& text : {std::string(), std::string("\xff\x00\x01 no json\n{\n", 15)}) {
    replace_file(metrics, text);
    const Ran ran = run_axle({"runs", run("a"), run("c")});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "WARNING: " + metrics +
                           ": expected records of training, got none; the run has no losses\n");
  }
}

// One bad file does not cost the table, and a line of the user's own is no step.
TEST_F(Runs, AConfigThatCannotBeReadIsReported) {
  std::filesystem::copy(run("a"), run("c"), std::filesystem::copy_options::recursive);
  replace_file(run("c") + "/config.yaml", "model: [\n");
  replace_file(
      run("c") + "/metrics.jsonl",
      read_file(run("c") + "/metrics.jsonl") +
          "{\"step\":90,\"wall_secs\":1.0}\n{\"step\":91,\"split\":\"held_out\",\"loss\":0.001}\n");
  const Ran ran = run_axle({"runs", dir_ / "runs", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, ::testing::MatchesRegex(
                           "WARNING: .*/c/config.yaml:2: expected YAML.*; compared without the "
                           "config of .*/c\n"));
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["runs"][2]["step"], 3);
  const Json expected = {{"learner.rate", {"0.500000", "0.250000", "?"}},
                         {"seed", {"(none)", "3", "?"}}};
  EXPECT_EQ(json["differences"], expected);
  EXPECT_EQ(json["without_config"], Json({run("c")}));
}

// Configs that cannot be read are not equal to others.
TEST_F(Runs, AConfigThatIsMissingIsNotEqual) {
  for (const char* name : {"c", "d"})
    std::filesystem::copy(run("a"), run(name), std::filesystem::copy_options::recursive);
  const std::string config = run("c") + "/config.yaml";
  for (const std::string problem : {"got nothing there", "expected YAML", "got none"}) {
    SCOPED_TRACE(problem);
    std::filesystem::remove(config);
    if (problem == "expected YAML") replace_file(config, "model: [\n");
    if (problem == "got none") replace_file(config, "");
    const Ran two = run_axle({"runs", run("a"), run("c")});
    EXPECT_EQ(two.code, 0);
    EXPECT_THAT(two.err, HasSubstr(problem));
    EXPECT_THAT(two.err, HasSubstr("; compared without the config of " + run("c") + "\n"));
    EXPECT_THAT(two.out,
                HasSubstr("the configs are not compared: there is none of " + run("c") + "\n"));
    EXPECT_THAT(run_axle({"runs", run("a"), run("c"), run("d")}).out,
                HasSubstr("the configs are equal, compared without that of " + run("c") + "\n"));
    const Json json = Json::parse(run_axle({"runs", run("a"), run("c"), "--json"}).out);
    EXPECT_EQ(json["differences"], nullptr);
    EXPECT_EQ(json["without_config"], Json({run("c")}));
  }
  const Json good = Json::parse(run_axle({"runs", run("a"), run("d"), "--json"}).out);
  EXPECT_EQ(good["differences"], Json::object());
  EXPECT_EQ(good["without_config"], Json::array());
}

TEST_F(Runs, NamesPathsThatAreNotRuns) {
  const auto expect = [&](const std::string& dir, const std::string& message) {
    const Ran ran = run_axle({"runs", run("a"), dir});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(message));
  };
  expect(run("none"), "none: expected the folder of a run, got nothing there");
  expect(run("no_run"),
         "no_run: expected the folder of a run or a folder of runs, got one without");
  expect(run("a") + "/config.yaml", "config.yaml: expected the folder of a run, got a file");
  EXPECT_EQ(run_axle({"runs"}).code, 2);
}

}  // namespace
}  // namespace axle
