// Texts that stay as they are unless someone means to change them.
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

/// Where golden files lie: AXLE_GOLDEN_DIR, which the CMake function axle_test defines; in Axle's
/// own tree testdata/golden.
#ifdef AXLE_GOLDEN_DIR
inline std::filesystem::path golden_folder() { return AXLE_GOLDEN_DIR; }
#else
inline std::filesystem::path golden_folder() { return source_file("testdata/golden"); }
#endif

/// The file's text is `text`; with UPDATE_GOLDEN in the environment it becomes that.
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
