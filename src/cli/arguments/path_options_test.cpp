#include <gmock/gmock.h>

#include "cli/arguments/options.h"
#include "cli/arguments/parse_test.h"
#include "io/file.h"

namespace axle::cli {
namespace {

TEST(PathOptions, AreRecognisedByTheNamesOfTheirValues) {
  CLI::App app;
  std::string text;
  int count = 0;
  const auto takes_path = [&](const char* type) {
    return is_path(*app.add_option("--option" + std::to_string(++count), text)->type_name(type));
  };
  for (const char* type : {"DIR", "FILE", "PATH", "PREFIX", "RUN", "IN.safetensors", "moe.yaml"})
    EXPECT_TRUE(takes_path(type)) << type;
  for (const char* type : {"NAME", "N", "PATH=VALUE", "DIRECTION"})
    EXPECT_FALSE(takes_path(type)) << type;
  for (const char* positional : {"DIR", "SOURCES"})
    EXPECT_TRUE(is_path(*app.add_option(positional, text)));
  EXPECT_TRUE(is_path(*app.add_option("CASE.yaml", text)->type_name("")));
  EXPECT_FALSE(is_path(*app.add_option("RECIPE", text)));
}

TEST(PathOptions, RefuseAnEmptyPath) {
  std::string dir, name;
  const auto add = [&](CLI::App& app) {
    app.add_option("--dir", dir)->type_name("DIR");
    app.add_option("--name", name)->type_name("NAME");
    refuse_bad_paths(app);
  };
  EXPECT_EQ(parse_error(add, {"--dir", ""}), "--dir: expected a path, got an empty text");
  EXPECT_EQ(parse_error(add, {"--dir", "run", "--name", ""}), "no error");
  EXPECT_EQ(dir, "run");
}

TEST(PathOptions, RefuseAddressesOfOtherMachines) {
  for (const char* path : {"s3://b/run", "s3:/b/run", "gs://bucket", "https://x.org/a.txt",
                           "file:///a/b", "hdfs://n:8020/a", "S3://b", "a+b://c"})
    EXPECT_THAT(path_problem(path), ::testing::HasSubstr(path)) << path;
  EXPECT_EQ(path_problem("s3://b/run"),
            "expected a path of this machine, got 's3://b/run'; s3:// is not supported, mount it "
            "or copy it here");
  for (const char* path :
       {"run", "./s3://b", "/a://b", "a:/b", "a b://c", "://", "1://x", "s3:", "a/\xff"})
    EXPECT_EQ(path_problem(path), "") << path;
}

}  // namespace
}  // namespace axle::cli
