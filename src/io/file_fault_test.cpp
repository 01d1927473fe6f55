// What remains on the disk when writing fails: always the old file, never a part of the new one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(FileFault, FullDiskKeepsTheOldFile) {
  const TempDir dir;
  replace_file(dir / "x", "old");
  {
    const FileSizeLimit limit(1000);
    EXPECT_THAT([&] { replace_file(dir / "x", std::string(1500, 'n')); },
                ThrowsMessage<StorageError>(
                    AllOf(HasSubstr("write at offset 1000"), HasSubstr("File too large"))));
  }
  EXPECT_EQ(read_file(dir / "x"), "old");
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "x"));
}

TEST(FileFault, FullDeviceIsAnError) {
  EXPECT_THAT([] { replace_file("/dev/full", "x"); },
              ThrowsMessage<StorageError>(HasSubstr("No space left on device")));
}

TEST(FileFault, FailedFillLeavesNoFile) {
  const TempDir dir;
  const auto fill = [](FileWriter& file) {
    file.write("half");
    throw std::runtime_error("stop");
  };
  EXPECT_THAT([&] { write_atomically(dir / "x", fill); },
              ThrowsMessage<std::runtime_error>(HasSubstr("stop")));
  EXPECT_THAT(list_directory(dir.path()), ElementsAre());
}

TEST(FileFault, LockNamesItsHolderAndEndsWithTheProcess) {
  const TempDir dir;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(dir / "lock");
    ::write(pipe_ends[1], "x", 1);
    ::pause();  // killed here, so no destructor runs
  }
  char ready;
  ASSERT_EQ(::read(pipe_ends[0], &ready, 1), 1);
  EXPECT_THAT([&] { FileLock lock(dir / "lock"); },
              ThrowsMessage<StorageError>(HasSubstr("process " + std::to_string(child))));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const FileLock lock(dir / "lock");
  EXPECT_EQ(read_file(dir / "lock"), std::to_string(::getpid()) + "\n");
  EXPECT_THROW(FileLock(dir / "lock"), StorageError);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST(FileFault, LockIsRetakenIfItsFileWasRemoved) {
  const TempDir dir;
  std::optional<FileLock> first(std::in_place, dir / "lock");
  const FileLock second(dir / "lock", [&](const std::string&) {
    remove_tree(dir / "lock");  // as a run does that cleans up after itself
    first.reset();
    return true;
  });
  EXPECT_TRUE(path_exists(dir / "lock"));
  EXPECT_THROW(FileLock(dir / "lock"), StorageError) << "the second holds it";
}

TEST(FileFault, ALockCanBeWaitedFor) {
  const TempDir dir;
  std::optional<FileLock> other(std::in_place, dir / "lock");
  int num_asked = 0;
  const FileLock lock(dir / "lock", [&](const std::string& holder) {
    EXPECT_EQ(holder, "process " + std::to_string(::getpid()));
    if (++num_asked == 2) other.reset();
    return true;
  });
  EXPECT_EQ(num_asked, 2);
  EXPECT_THROW(FileLock(dir / "lock", [](const std::string&) { return false; }), StorageError);
  EXPECT_THROW(FileLock(dir / "lock", [](const std::string&) -> bool { throw DataError("me"); }),
               DataError);
}

}  // namespace
}  // namespace axle
