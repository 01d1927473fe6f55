// Compiled programs are kept between runs, in one folder for all verbs.
#include <gmock/gmock.h>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class CompileCache : public ::testing::Test {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  Ran train(const std::string& name, const Arguments& more = {}) {
    const Arguments training = {"train",  "quickstart",    "--dir",   dir_ / name,
                                "--data", text_file(dir_), "--steps", "1"};
    return run_axle(joined(joined(training, tiny_quickstart()), more));
  }
  // Returns the number of compiled programs in a folder.
  static int num_programs(const std::filesystem::path& folder) {
    int n = 0;
    if (directory_exists(folder)) {
      for (const auto& path : list_directory(folder)) n += path.extension() == ".axlexe";
    }
    return n;
  }

  TempDir dir_;
  const std::filesystem::path cache_ = dir_.path() / "home" / "axle" / "programs";
  EnvironmentChange named_{"AXLE_COMPILE_CACHE", std::nullopt};
  EnvironmentChange home_{"XDG_CACHE_HOME", (dir_.path() / "home").string()};
};

TEST_F(CompileCache, IsSharedByTheVerbsAndByDefault) {
  ASSERT_EQ(train("first").code, 0);
  const int of_training = num_programs(cache_);
  EXPECT_EQ(of_training, 1);
  ASSERT_EQ(train("second").code, 0);
  EXPECT_EQ(num_programs(cache_), of_training);

  const std::vector<std::vector<std::string>> verbs = {
      {"eval", "--from", dir_ / "first", "--data", text_file(dir_)},
      {"generate", "--from", dir_ / "first", "--prompt", "the", "--max-tokens", "4"}};
  for (const auto& verb : verbs) {
    const int before = num_programs(cache_);
    const Ran once = run_axle(verb);
    ASSERT_EQ(once.code, 0) << once.err;
    const int after = num_programs(cache_);
    EXPECT_GT(after, before) << verb[0];
    const Ran again = run_axle(verb);
    EXPECT_EQ(again.out, once.out);
    EXPECT_EQ(num_programs(cache_), after) << verb[0];
  }
}

TEST_F(CompileCache, FolderCanBeNamedOrTheCacheDisabled) {
  ASSERT_EQ(train("none", {"--compile-cache", "none"}).code, 0);
  ASSERT_EQ(train("named", {"--compile-cache", dir_ / "mine"}).code, 0);
  EXPECT_EQ(num_programs(dir_.path() / "mine"), 1);
  named_.set("none");
  ASSERT_EQ(train("variable").code, 0);
  EXPECT_EQ(num_programs(cache_), 0);
}

TEST_F(CompileCache, UnusableCacheFolderIsOneWarning) {
  replace_file(dir_ / "file", "not a folder");
  const Ran ran = train("run", {"--compile-cache", dir_ / "file"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("WARNING: compiled programs are not cached: " + (dir_ / "file")));
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
}

}  // namespace
}  // namespace axle
