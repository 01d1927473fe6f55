// Saves that are killed, or whose system calls fail, at every possible point.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "checkpoint/checkpoint_test.h"
#include "checkpoint/checkpointer.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/state_files.h"
#include "checkpoint/syscall_injector_test.h"
#include "io/file.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A save also removes old checkpoints, so that removal is killed and fails too.
const Checkpointer::Config kConfig = {
    .every_steps = 1, .keep_last_n = 1, .mode = SaveMode::kBlocking};

void save_two(const std::filesystem::path& root) {
  for (const int64_t step : {1, 2}) {
    write_checkpoint(root, step, example_state(step), example_metadata(step));
  }
}

// A run that has saved steps 1 and 2. A save of step 3 removes step 1.
class Crash : public ::testing::Test {
 protected:
  Crash() { save_two(dir_ / "before"); }
  void prepare() const {
    remove_tree(root_);
    std::filesystem::copy(dir_ / "before", root_, std::filesystem::copy_options::recursive);
  }

  const InMemory in_memory_;
  const TempDir dir_;
  const std::filesystem::path root_ = dir_ / "checkpoints";
};

void expect_whole(const std::filesystem::path& root, const std::string& where) {
  Lines told;
  const auto back = restore_tensors(root, std::ref(told));
  ASSERT_TRUE(back) << where;
  EXPECT_THAT(back->step, AnyOf(2, 3)) << where;
  EXPECT_EQ(back->tensors, example_state(back->step)) << where;
  EXPECT_EQ(back->metadata, example_metadata(back->step)) << where;
  EXPECT_THAT(told.lines, ElementsAre()) << where;  // not even a damaged one is left
}

TEST_F(Crash, KilledAtEverySystemCallOfASave) {
  SyscallInjector save([this] {
    Checkpointer(kConfig, root_).save(3, example_state(3), example_metadata(3));
    return 0;
  });
  int kills = 0, committed = 0;
  while (true) {
    prepare();
    const ChildEnd end = save.kill_at(kills);
    if (end.refused) GTEST_SKIP() << "this system does not let a process trace another";
    if (!end.killed) {
      EXPECT_EQ(end.exit_code, 0);
      break;
    }
    const std::string where = fmt::format("killed at stop {}", kills);
    expect_whole(root_, where);
    committed += restore_tensors(root_)->step == 3;
    // The next process continues as if nothing had happened.
    Checkpointer next(kConfig, root_);
    next.save(4, example_state(4), example_metadata(4));
    EXPECT_EQ(next.num_failures(), 0) << where;
    EXPECT_THAT(list_directory(root_), ElementsAre(checkpoint_folder(root_, 4))) << where;
    if (HasFailure()) break;
    ++kills;
  }
  EXPECT_GT(kills, 50);         // there were enough points to kill at
  EXPECT_GT(committed, 0);      // some kills came after the commit
  EXPECT_LT(committed, kills);  // some kills came before it
  EXPECT_EQ(restore_tensors(root_)->step, 3);
}

#if defined(__x86_64__)
// The exit codes of the child of the next test.
enum Outcome {
  kAllSaved = 0,
  kFirstFailed = 1,
  kSecondFailed = 2,
  kRefusedToStart = 40,
  kSilent = 50
};

bool is_file_call(uint64_t number) {
  switch (number) {
    case SYS_write:
    case SYS_fsync:
    case SYS_openat:
    case SYS_close:
    case SYS_mkdir:
    case SYS_rename:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rmdir:
    case SYS_getdents64:
    case SYS_read:
    case SYS_newfstatat:
    case SYS_fstat:
    case SYS_statx:
      return true;
    default:
      return false;
  }
}

TEST_F(Crash, RunSurvivesEveryFileErrorAndKeepsAGoodCheckpoint) {
  SyscallInjector save([this]() -> int {
    int lines = 0;
    std::unique_ptr<Checkpointer> checkpointer;
    try {
      checkpointer = std::make_unique<Checkpointer>(kConfig, root_, [&](auto&) { ++lines; });
    } catch (const StorageError&) {
      return kRefusedToStart;
    }
    int outcome = kAllSaved;
    for (const auto& [step, bit] : {std::pair(3, kFirstFailed), {4, kSecondFailed}}) {
      const int64_t before = checkpointer->num_failures();
      checkpointer->save(step, example_state(step), example_metadata(step));
      if (checkpointer->num_failures() != before) outcome |= bit;
    }
    return lines < checkpointer->num_failures() ? kSilent : outcome;
  });
  int failures = 0;
  for (const int error : {ENOSPC, EIO, EDQUOT, EACCES, EMFILE, EINTR}) {
    for (int n = 0;; ++n) {
      prepare();
      const ChildEnd end = save.fail_at(n, error, is_file_call);
      if (end.refused) GTEST_SKIP() << "this system does not let a process trace another";
      const std::string where = fmt::format("{} at file call {}", std::strerror(error), n);
      if (!save.hit()) {
        EXPECT_EQ(end.exit_code, 0);
        EXPECT_GT(n, 20);
        break;
      }
      const auto back = restore_tensors(root_, [](const std::string&) {});
      ASSERT_TRUE(back) << where;
      EXPECT_EQ(back->tensors, example_state(back->step)) << where;
      EXPECT_THAT(end.exit_code, AnyOf(kAllSaved, kFirstFailed, kSecondFailed, kRefusedToStart))
          << where;
      EXPECT_GE(back->step, end.exit_code == kRefusedToStart ? 2
                            : end.exit_code == kSecondFailed ? 3
                                                             : 4)
          << where;
      failures += end.exit_code == kFirstFailed;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(failures, 50);
}

// Error codes of file systems that cannot swap two folders, above all NFS.
constexpr int kNoExchange[] = {EINVAL, ENOSYS, ENOTSUP};

// A run that has saved steps 2 and 3, and saves step 3 again.
class Replacement : public Crash {
 protected:
  static constexpr int64_t kOld = 33;  // step whose state the older checkpoint of step 3 holds
  void prepare() const {
    remove_tree(root_);
    write_checkpoint(root_, 2, example_state(2), example_metadata(2));
    write_checkpoint(root_, 3, example_state(kOld), example_metadata(kOld));
  }
  static bool is_at_three(const std::optional<RestoredTensors>& back) {
    return back && back->step == 3 &&
           (back->tensors == example_state(3) || back->tensors == example_state(kOld));
  }
  int save() const {
    try {
      Checkpointer checkpointer(kConfig, root_, [](const std::string&) {});
      checkpointer.save(3, example_state(3), example_metadata(3));
      return checkpointer.num_failures() == 0 ? kAllSaved : kFirstFailed;
    } catch (const StorageError&) {
      return kRefusedToStart;
    }
  }
  SyscallInjector saving_{[this] { return save(); }};
};

TEST_F(Replacement, SucceedsWhereFoldersCannotBeSwapped) {
  for (const int error : kNoExchange) {
    prepare();
    saving_.refuse(SYS_renameat2, error);
    const ChildEnd end = saving_.fail_at(0, 0, [](uint64_t) { return false; });
    if (end.refused) GTEST_SKIP() << "this system does not let a process trace another";
    EXPECT_EQ(end.exit_code, kAllSaved) << std::strerror(error);
    EXPECT_EQ(restore_tensors(root_)->tensors, example_state(3)) << std::strerror(error);
    EXPECT_THAT(list_directory(root_), ElementsAre(checkpoint_folder(root_, 3)));
  }
}

TEST_F(Replacement, SurvivesAKillAtEverySystemCallWhereFoldersCannotBeSwapped) {
  for (const int error : kNoExchange) {
    saving_.refuse(SYS_renameat2, error);
    int kills = 0, in_between = 0, committed = 0;
    for (;; ++kills) {
      prepare();
      const ChildEnd end = saving_.kill_at(kills);
      if (end.refused) GTEST_SKIP() << "this system does not let a process trace another";
      if (!end.killed) break;
      const std::string where = fmt::format("{}, killed at stop {}", std::strerror(error), kills);
      Lines told;
      const auto back = restore_tensors(root_, std::ref(told));
      ASSERT_TRUE(back) << where;
      ASSERT_THAT(told.lines, ElementsAre()) << where;  // no damaged one is left
      const bool none_of_it = back->step == 2 && back->tensors == example_state(2);
      ASSERT_TRUE(none_of_it || is_at_three(back)) << where;
      in_between += none_of_it;
      committed += back->tensors == example_state(3);
      // The next process finds one of the two checkpoints whole, and continues as if nothing had
      // happened.
      Checkpointer next(kConfig, root_, std::ref(told));
      const auto found = restore_tensors(root_, std::ref(told));
      ASSERT_TRUE(is_at_three(found)) << where;
      ASSERT_TRUE(back->step == 2 || found->tensors == back->tensors) << where;
      next.save(4, example_state(4), example_metadata(4));
      ASSERT_THAT(told.lines, ElementsAre()) << where;
      ASSERT_THAT(list_directory(root_), ElementsAre(checkpoint_folder(root_, 4))) << where;
    }
    EXPECT_GT(kills, 50);
    EXPECT_GT(in_between, 0);
    EXPECT_GT(committed, 0);
    EXPECT_LT(committed, kills);
  }
}

TEST_F(Replacement, SurvivesEveryFileErrorWhereFoldersCannotBeSwapped) {
  saving_.refuse(SYS_renameat2, EINVAL);
  int failures = 0;
  for (const int error : {ENOSPC, EIO, EACCES}) {
    for (int n = 0;; ++n) {
      prepare();
      const ChildEnd end = saving_.fail_at(n, error, [](uint64_t number) {
        return number != SYS_renameat2 && is_file_call(number);
      });
      if (end.refused) GTEST_SKIP() << "this system does not let a process trace another";
      if (!saving_.hit()) break;
      const std::string where = fmt::format("{} at file call {}", std::strerror(error), n);
      ASSERT_TRUE(is_at_three(restore_tensors(root_))) << where;
      ASSERT_THAT(end.exit_code, AnyOf(kAllSaved, kFirstFailed, kRefusedToStart)) << where;
      failures += end.exit_code == kFirstFailed;
      // Everything left behind is removed, and the step can be saved.
      ASSERT_EQ(save(), kAllSaved) << where;
      ASSERT_EQ(restore_tensors(root_)->tensors, example_state(3)) << where;
      ASSERT_THAT(list_directory(root_), ElementsAre(checkpoint_folder(root_, 3))) << where;
    }
  }
  EXPECT_GT(failures, 20);
}
#endif

class Storage : public ::testing::TestWithParam<SaveMode> {
 protected:
  Checkpointer::Config config() const {
    Checkpointer::Config config = kConfig;
    config.mode = GetParam();
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, Storage,
                         ::testing::Values(SaveMode::kBackground, SaveMode::kBlocking),
                         [](const auto& mode) { return to_text(mode.param); });

TEST_P(Storage, FilesThatMayNotGrow) {
  const TempDir dir;
  save_two(dir.path());
  Lines told;
  Checkpointer checkpointer(config(), dir.path(), std::ref(told));
  {
    const FileSizeLimit limit(10000);
    checkpointer.save(3, example_state(3));
    EXPECT_EQ(checkpointer.last_saved(), std::nullopt);
  }
  EXPECT_EQ(checkpointer.num_failures(), 1);
  ASSERT_EQ(told.lines.size(), 1u);
  EXPECT_THAT(told.lines[0], AllOf(HasSubstr("the checkpoint of step 3 was not saved: "),
                                   HasSubstr("data_00000.bin"), HasSubstr("write at offset 10000"),
                                   HasSubstr("1 failed so far")));
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(1, 2));
  checkpointer.save(4, example_state(4));
  EXPECT_EQ(checkpointer.last_saved(), 4);
}

TEST_P(Storage, FullDiskThatIsFreedLater) {
  const TempDir dir;
  // Room for one and a half checkpoints.
  if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=100k") != 0) {
    GTEST_SKIP() << "may not mount a small disk: " << std::strerror(errno);
  }
  {
    Lines told;
    Checkpointer checkpointer(config(), dir.path(), std::ref(told));
    checkpointer.save(1, example_state(1));
    EXPECT_EQ(checkpointer.last_saved(), 1);
    const std::string hog = dir / "hog";
    FileWriter(hog).write(std::string(30000, 'x'));
    checkpointer.save(2, example_state(2));
    checkpointer.save(3, example_state(3));
    EXPECT_EQ(checkpointer.last_saved(), 1);
    EXPECT_EQ(checkpointer.num_failures(), 2);
    ASSERT_EQ(told.lines.size(), 2u);
    EXPECT_THAT(told.lines[1], HasSubstr("No space left on device"));
    EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(1));
    remove_tree(hog);
    checkpointer.save(4, example_state(4));
    EXPECT_EQ(checkpointer.last_saved(), 4);
  }
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(4));
  ::umount(dir.path().c_str());
}

TEST(StorageRights, NoPermissionIsReportedAndCounted) {
  const TempDir dir;
  save_two(dir.path());
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0555));
  // root ignores permissions, so the child becomes another user.
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::getuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setuid(65534) != 0)) ::_exit(90);
    Lines told;
    Checkpointer checkpointer(kConfig, dir.path(), std::ref(told));
    checkpointer.save(3, example_state(3));
    const bool said =
        told.lines.size() == 1 && told.lines[0].find("Permission denied") != std::string::npos;
    ::_exit(checkpointer.num_failures() == 1 && said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 90) GTEST_SKIP() << "may not become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(restore_tensors(dir.path())->step, 2);
}

}  // namespace
}  // namespace axle
