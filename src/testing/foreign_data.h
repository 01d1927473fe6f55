// Files made by others (real weights, vocabularies and texts) that are not part of the project.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/process_start.h"

namespace axle {

/// Skips unless AXLE_FOREIGN_DATA names a folder. A folder may have only some of the files: each
/// test says by AXLE_NEEDS_FILES which ones it reads.
class ForeignDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder().empty())
      GTEST_SKIP() << "AXLE_FOREIGN_DATA names no folder with files of others; `./dev foreign` "
                      "fetches most of them";
  }
  static std::filesystem::path folder() { return environment_variable("AXLE_FOREIGN_DATA"); }
  static std::string file(const std::string& path) { return (folder() / path).string(); }
};

}  // namespace axle

/// Skips a test of a ForeignDataTest if the folder lacks one of these files.
#define AXLE_NEEDS_FILES(...)                             \
  for (const char* const needed_ : {__VA_ARGS__})         \
    if (!std::filesystem::is_regular_file(file(needed_))) \
  GTEST_SKIP() << "AXLE_FOREIGN_DATA has no " << needed_
