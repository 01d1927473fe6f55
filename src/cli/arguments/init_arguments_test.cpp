#include <gtest/gtest.h>

#include "cli/arguments/parse_test.h"
#include "cli/arguments/run_folder_arguments.h"
#include "testing/error_of.h"

namespace axle::cli {
namespace {

InitFrom init(const std::vector<std::string>& words) {
  return parsed<InitArguments>(words).result();
}

TEST(InitArguments, NameFoldersOfTheModelAndOfItsParts) {
  EXPECT_TRUE(init({}).empty());
  const InitFrom from = init({"--init-from", "dense", "--upcycle"});
  EXPECT_EQ(from.folder, "dense");
  EXPECT_TRUE(from.upcycle);
  const InitFrom parts = init({"--init-part", "teacher=runs/a=b", "--init-part", "student=c"});
  EXPECT_EQ(parts.submodels.size(), 2u);
  EXPECT_EQ(parts.submodels.at("teacher"), "runs/a=b");
  EXPECT_EQ(parts.submodels.at("student"), "c");
}

TEST(InitArguments, RefuseAPartWithoutAFolder) {
  for (const char* text : {"teacher", "teacher=", "=dir"}) {
    EXPECT_EQ(error_of([&] {
                init({"--init-part", text});
              }),
              std::string("--init-part: expected PART=DIR, such as teacher=runs/large, got '") +
                  text + "'");
  }
  EXPECT_EQ(error_of([&] {
              init({"--init-part", "teacher=a", "--init-part", "teacher=b"});
            }),
            "--init-part: expected one folder for teacher, got two");
}

}  // namespace
}  // namespace axle::cli
