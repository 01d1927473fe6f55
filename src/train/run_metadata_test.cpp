#include "train/run_metadata.h"

#include <gmock/gmock.h>

#include "testing/error_of.h"

namespace axle {
namespace {

using testing::HasSubstr;

RunMetadata read(Tree<std::string> metadata) {
  return run_metadata(
      {.step = 7, .metadata = std::move(metadata), .manifest = "run/manifest.json"});
}

TEST(RunMetadata, ComesBackAsItWasWritten) {
  const RunMetadata back =
      read(to_tree({.config = "a: 1\n", .data = "{}", .skipped_steps = 3, .wall_secs = 12.5}));
  EXPECT_EQ(back.config, "a: 1\n");
  EXPECT_EQ(back.data, "{}");
  EXPECT_EQ(back.skipped_steps, 3);
  EXPECT_EQ(back.wall_secs, 12.5);
}

TEST(RunMetadata, OfEarlierVersionsHasNoTime) {
  EXPECT_EQ(read({{"data", "x"}, {"skipped_steps", "0"}}).wall_secs, 0);
}

TEST(RunMetadata, WhatNoRunHasWrittenIsNamed) {
  const Tree<std::string> good = to_tree({.data = "{}"});
  for (const char* name : {"data", "skipped_steps"}) {
    Tree<std::string> without = good;
    without.erase(name);
    EXPECT_THAT(error_of<StorageError>([&] { read(without); }),
                HasSubstr("run/manifest.json: metadata." + std::string(name) + ": expected"));
  }
  for (const char* name : {"skipped_steps", "wall_secs"}) {
    for (const char* text : {"", "many", "-1", "nan", "inf", "1e999", "1 "}) {
      Tree<std::string> bad = good;
      bad.at(name) = text;
      EXPECT_THAT(error_of<StorageError>([&] { read(bad); }), HasSubstr(name)) << text;
    }
  }
}

}  // namespace
}  // namespace axle
