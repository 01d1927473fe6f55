// Stored bytes that differ from those written: every damage is found and named by file and offset,
// and the newest good checkpoint is restored.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "checkpoint/checkpoint_test.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/state_files.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/error_of_unprivileged.h"
#include "testing/lfs_pointer.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Small chunks, so that files have many of them, of different sizes.
constexpr WriteOptions kSmall{.file_bytes = 20000, .chunk_bytes = 1000};

class Damage : public ::testing::Test {
 protected:
  Damage() {
    for (const int64_t step : {1, 2}) {
      write_checkpoint(dir_.path(), step, example_state(step), example_metadata(step), kSmall);
    }
    for (const auto& path : list_directory(checkpoint_folder(dir_.path(), 2))) {
      files_.emplace_back(path, read_file(path));
    }
  }

  // Expects a report of the damaged checkpoint of step 2, and the restore of step 1.
  void expect_found(const std::string& what) {
    Lines told;
    const auto back = restore_tensors(dir_.path(), std::ref(told));
    ASSERT_TRUE(back) << what;
    ASSERT_EQ(back->step, 1) << what;
    ASSERT_EQ(back->tensors, example_state(1)) << what;
    ASSERT_EQ(back->metadata, example_metadata(1)) << what;
    ASSERT_EQ(told.lines.size(), 2u);
    ASSERT_THAT(told.lines[0], AllOf(HasSubstr("damaged checkpoint"), HasSubstr(what)));
    ASSERT_THAT(told.lines[1], HasSubstr("the checkpoint of step 1 is used instead of step "));
  }
  void put(const std::filesystem::path& path, std::string_view bytes) {
    FileWriter file(path);
    file.write(bytes);
    file.close();
  }

  const InMemory in_memory_;
  const TempDir dir_;
  std::vector<std::pair<std::filesystem::path, std::string>> files_;
};

// A checkpoint that the system does not let us read may be whole: no older one may replace it.
TEST_F(Damage, UnreadableFilesAreNotCalledDamaged) {
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::all);
  const auto error_without = [&](const std::filesystem::path& path) {
    const auto before = std::filesystem::status(path).permissions();
    std::filesystem::permissions(path, std::filesystem::perms::none);
    const std::string error =
        error_of_unprivileged<StorageError>([&] { restore_tensors(dir_.path()); });
    std::filesystem::permissions(path, before);
    return error;
  };
  const auto folder = checkpoint_folder(dir_.path(), 2);
  for (const auto& path : {folder / "manifest.json", folder / "data_00001.bin", folder}) {
    EXPECT_THAT(error_without(path),
                HasSubstr(": Permission denied; the checkpoint of step 2 may be intact"));
  }
  EXPECT_THAT(error_without(dir_.path()), HasSubstr(": Permission denied"));
  EXPECT_EQ(error_of_unprivileged<StorageError>([&] { restore_tensors(dir_.path()); }), "no error");
}

TEST_F(Damage, IntactCheckpointRestoresWithoutWarning) {
  EXPECT_EQ(files_.size(), 3u);  // two data files and the manifest
  Lines told;
  EXPECT_EQ(restore_tensors(dir_.path(), std::ref(told))->tensors, example_state(2));
  EXPECT_TRUE(told.lines.empty());
}

TEST_F(Damage, EveryFileCutAtManyPlaces) {
  for (const auto& [path, bytes] : files_) {
    for (size_t size = 0; size < bytes.size(); size += 4096) {
      std::filesystem::resize_file(path, size);
      expect_found(path.string());
    }
    std::filesystem::resize_file(path, bytes.size() - 1);
    expect_found(path.string() + ": offset ");
    put(path, bytes + "x");
    expect_found(path.string() + ": offset ");
    put(path, bytes);
  }
}

TEST_F(Damage, GitLfsPointersAreNamedInAnyFile) {
  for (const auto& [path, bytes] : files_) {
    put(path, kLfsPointer);
    EXPECT_THAT(error_of<StorageError>([&] { StoredCheckpoint(dir_.path(), 2).verify(); }),
                AllOf(HasSubstr(path.string()), HasSubstr(kLfsPointerNamed)));
    expect_found(path.string());
    put(path, bytes);
  }
}

TEST_F(Damage, EveryFlippedBit) {
  std::mt19937 random(20);
  size_t trials = 0;
  for (const auto& [path, bytes] : files_) {
    std::string changed = bytes;
    for (int i = 0; i < 3500; ++i, ++trials) {
      const size_t at = random() % bytes.size();
      changed[at] ^= static_cast<char>(1 << (random() % 8));
      put(path, changed);
      const size_t chunk = at / 1000 * 1000;
      const std::string place = path.filename() == kManifestName
                                    ? path.string()
                                    : fmt::format("{}: offset {}:", path.string(), chunk);
      EXPECT_THAT(error_of<StorageError>([&] { StoredCheckpoint(dir_.path(), 2).verify(); }),
                  HasSubstr(place))
          << path << ": a flipped bit at byte " << at;
      changed[at] = bytes[at];
    }
    put(path, bytes);
  }
  EXPECT_GE(trials, 10000u);
}

TEST_F(Damage, SwappedChunks) {
  const auto& [path, bytes] = files_[0];
  std::string changed = bytes;
  std::swap_ranges(changed.begin() + 1000, changed.begin() + 2000, changed.begin() + 5000);
  put(path, changed);
  expect_found(path.string() + ": offset 1000: expected 1000 bytes with CRC-32C");
}

TEST_F(Damage, SwappedFiles) {
  put(files_[0].first, files_[1].second);
  put(files_[1].first, files_[0].second);
  expect_found(files_[0].first.string());
}

TEST_F(Damage, MissingFiles) {
  for (const auto& [path, bytes] : files_) {
    remove_tree(path);
    expect_found(path.string());
    put(path, bytes);
  }
}

TEST_F(Damage, AnotherCheckpointUnderItsName) {
  remove_tree(checkpoint_folder(dir_.path(), 2));
  std::filesystem::copy(checkpoint_folder(dir_.path(), 1), checkpoint_folder(dir_.path(), 2));
  expect_found("expected the checkpoint of step 2, got that of step 1");
}

TEST_F(Damage, EmptyFolderAndRemainsOfAKilledProcess) {
  make_directories(dir_ / "step_00000003.tmp-77");
  remove_tree(checkpoint_folder(dir_.path(), 2));
  make_directories(checkpoint_folder(dir_.path(), 2));
  expect_found("manifest.json: cannot open");
}

// If a reader refuses a checkpoint, its own error is thrown.
TEST_F(Damage, RefusalByTheReaderIsNotDamage) {
  Lines told;
  int asked = 0;
  const auto refuse = [&](const Manifest&) -> TensorSink {
    ++asked;
    throw StorageError("not of ours");
  };
  EXPECT_EQ(error_of<StorageError>([&] { restore_newest(dir_.path(), refuse, std::ref(told)); }),
            "not of ours");
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(told.lines.empty());
}

TEST_F(Damage, AllCheckpointsDamagedIsAnErrorAndNotAFreshStart) {
  for (const int64_t step : {1, 2}) {
    put(checkpoint_folder(dir_.path(), step) / "manifest.json", "");
  }
  Lines told;
  EXPECT_THAT(
      [&] { restore_tensors(dir_.path(), std::ref(told)); },
      ThrowsMessage<StorageError>(AllOf(HasSubstr("expected a good checkpoint, got 2 damaged: "),
                                        HasSubstr("step_00000002"))));
}

}  // namespace
}  // namespace axle
