// Files made by others (real weights, vocabularies and texts) that are not part of the project.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/environment.h"

namespace axle {

/// Skips unless AXLE_FOREIGN_DATA names a folder.
class ForeignDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder().empty())
      GTEST_SKIP() << "AXLE_FOREIGN_DATA names no folder with stories260K/, tokenizers/ and text/";
  }
  static std::filesystem::path folder() { return environment_variable("AXLE_FOREIGN_DATA"); }
  static std::string file(const std::string& path) { return (folder() / path).string(); }
};

}  // namespace axle
