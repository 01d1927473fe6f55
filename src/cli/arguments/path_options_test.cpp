#include "cli/arguments/path_options.h"

#include <gmock/gmock.h>

#include "cli/arguments/parse_test.h"

namespace axle::cli {
namespace {

TEST(PathOptions, AreKnownByTheNamesOfTheirValues) {
  CLI::App app;
  std::string text;
  int count = 0;
  const auto takes_path = [&](const char* type) {
    return is_path(*app.add_option("--option" + std::to_string(++count), text)->type_name(type));
  };
  for (const char* type : {"DIR", "FILE", "PATH", "IN.safetensors", "moe.yaml"})
    EXPECT_TRUE(takes_path(type)) << type;
  for (const char* type : {"NAME", "N", "PATH=VALUE", "DIRECTION"})
    EXPECT_FALSE(takes_path(type)) << type;
  EXPECT_TRUE(is_path(*app.add_option("DIR", text)));
  EXPECT_TRUE(is_path(*app.add_option("CASE.yaml", text)->type_name("")));
  EXPECT_FALSE(is_path(*app.add_option("RECIPE", text)));
}

TEST(PathOptions, RefuseAnEmptyPath) {
  std::string dir, name;
  const auto add = [&](CLI::App& app) {
    app.add_option("--dir", dir)->type_name("DIR");
    app.add_option("--name", name)->type_name("NAME");
    refuse_empty_paths(app);
  };
  EXPECT_EQ(parse_error(add, {"--dir", ""}), "--dir: expected a path, got an empty text");
  EXPECT_EQ(parse_error(add, {"--dir", "run", "--name", ""}), "no error");
  EXPECT_EQ(dir, "run");
}

TEST(PathOptions, PathsInReportsAreUtf8) {
  EXPECT_EQ(utf8_problem("corpus/\xc3\xa9"), "");
  EXPECT_EQ(utf8_problem("a\xff"), "expected UTF-8, got 'a\\xff'");
}

}  // namespace
}  // namespace axle::cli
