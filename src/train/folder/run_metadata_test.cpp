#include <gmock/gmock.h>

#include "data/synthetic_input.h"
#include "testing/error_of.h"
#include "train/folder/run_folder.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

RunMetadata read(Tree<std::string> metadata) {
  return run_metadata(
      {.step = 7, .metadata = std::move(metadata), .manifest = "run/manifest.json"});
}

TEST(RunMetadata, ComesBackAsItWasWritten) {
  const RunMetadata back = read(to_tree({.config = "a: 1\n",
                                         .data = "{}",
                                         .skipped_steps = 3,
                                         .wall_secs = 12.5,
                                         .stopped = "step 3: inf"}));
  EXPECT_EQ(back.config, "a: 1\n");
  EXPECT_EQ(back.data, "{}");
  EXPECT_EQ(back.skipped_steps, 3);
  EXPECT_EQ(back.wall_secs, 12.5);
  EXPECT_EQ(back.stopped, "step 3: inf");
}

TEST(RunMetadata, FilesOfEarlierVersionsHaveNeitherTimeNorReason) {
  const RunMetadata earlier = read({{"data", "x"}, {"skipped_steps", "0"}});
  EXPECT_EQ(earlier.wall_secs, 0);
  EXPECT_EQ(earlier.stopped, "");
}

TEST(RunMetadata, AFileThatNoRunHasWrittenIsNamed) {
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

TEST(RunMetadata, AnImportHasNone) {
  EXPECT_EQ(error_of<ConfigError>([] { read({}); }),
            "run/manifest.json: expected the checkpoint of a run, got that of an import; use "
            "another --dir, and pass the import's folder to --init-from");
}

TEST(RunMetadata, APositionThatNoInputHasWrittenIsNamed) {
  const Child<Input> config(SyntheticInput::Config{.seq_len = 4, .batch_size = 2});
  const auto input = config.build({.vocab_size = 5, .seed = 1}, Scope{.path = "input"});
  const RunMetadata good = read(to_tree({.data = input->state()}));
  EXPECT_EQ(error_of<Error>([&] { restore_input(*input, good, false); }), "no error");
  for (const char* data :
       {"", "{}", R"({"fingerprint":"0","next_row":9223372036854775807})",
        R"({"fingerprint":"0","next_row":-5})", R"({"fingerprint":"0","next_row":"x"})"}) {
    const RunMetadata bad = read(to_tree({.data = data}));
    EXPECT_THAT(error_of<StorageError>([&] { restore_input(*input, bad, false); }),
                ::testing::StartsWith("run/manifest.json: metadata.data: input state: "))
        << data;
  }
  // A state that belongs to other data is no damage.
  const RunMetadata other = read(to_tree({.data = R"({"fingerprint":"0","next_row":1})"}));
  EXPECT_THAT(error_of<DataError>([&] { restore_input(*input, other, false); }),
              HasSubstr("--restart-data"));
}

}  // namespace
}  // namespace axle
