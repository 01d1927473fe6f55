// Golden texts: a test fails if a text changes unintentionally.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#ifndef AXLE_GOLDEN_DIR
#include "testing/checkout.h"
#endif

namespace axle::testing {

/// The folder of golden files: AXLE_GOLDEN_DIR, which the CMake function axle_test defines, or
/// testdata/golden in Axle's own tree.
#ifdef AXLE_GOLDEN_DIR
inline std::filesystem::path golden_folder() { return AXLE_GOLDEN_DIR; }
#else
inline std::filesystem::path golden_folder() { return source_file("testdata/golden"); }
#endif

/// Expects that the file contains `text`. If UPDATE_GOLDEN is set in the environment, writes `text`
/// to the file instead.
inline void expect_golden(const std::string& file, const std::string& text) {
  const std::filesystem::path path = golden_folder() / file;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(golden.str(), text) << path << " differs; UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace axle::testing
