// The surroundings of the program. Standard streams may be closed, full or gone: losing a result is
// an error, losing the output of training is not. Signals: files that were left unfinished do not
// hinder the next process.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <functional>
#include <thread>

#include "base/error.h"
#include "checkpoint/state_files.h"
#include "cli/run_apart_test.h"
#include "infer/tiny_llama_test.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "testing/temp_dir.h"
#include "train/run_result_test.h"

namespace axle {
namespace {

constexpr int kStorage = static_cast<int>(ExitCode::kStorage);

void put_in_place(const char* path, std::initializer_list<int> descriptors) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  for (const int descriptor : descriptors) ::dup2(fd, descriptor);
}

// Makes both streams a pipe that nobody reads.
void lose_reader() {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) ::_exit(99);
  ::dup2(pipe[1], STDOUT_FILENO);
  ::dup2(pipe[1], STDERR_FILENO);
  ::close(pipe[0]);
}

void expect_whole(const std::filesystem::path& run) {
  EXPECT_THAT(read_file(run / "lock"), ::testing::MatchesRegex("[0-9]+\n"));
  EXPECT_EQ(records_of(run).size(), 3u);
}

TEST(Console, StreamsClosedAtTheStartDoNotReceiveOtherFiles) {
  for (int closed = 0; closed < 8; ++closed) {
    SCOPED_TRACE(closed);
    const auto close_them = [&] {
      for (const int fd : {0, 1, 2}) {
        if (closed >> fd & 1) ::close(fd);
      }
    };
    const TempDir dir;
    EXPECT_EQ(end_of(tiny_training(dir / "run"), close_them), 0);
    expect_whole(dir.path() / "run");
    const bool result_is_lost = closed >> 1 & 1;
    EXPECT_EQ(end_of({"config", "list"}, close_them), result_is_lost ? kStorage : 0);
  }
}

TEST(Console, FullOutputDoesNotStopTraining) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"), [] { put_in_place("/dev/full", {1, 2}); }), 0);
  expect_whole(dir.path() / "run");
}

TEST(Console, ClosedOutputDoesNotStopTraining) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"), lose_reader), 0);
  expect_whole(dir.path() / "run");
}

TEST(Console, AResultThatIsLostIsAnError) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"--version"}, Arguments{}, Arguments{"config", "--help"},
        Arguments{"config", "list"}, Arguments{"config", "show", "quickstart"},
        Arguments{"params", "quickstart", "--json"}, Arguments{"completion", "bash"}}) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/null", {1}); }), 0);
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/full", {1}); }), kStorage);
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/full", {1, 2}); }), kStorage);
    EXPECT_EQ(end_of(arguments, [] { ::close(1); }), kStorage);
    // Like every filter: `axle config list | head -1` ends without a message.
    EXPECT_EQ(end_of(arguments, lose_reader), -SIGPIPE);
  }
}

// A file size limit, as `ulimit -f` sets it.
TEST(Console, FileSizeLimitIsAnErrorAndNotACrash) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"),
                   [] {
                     const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
                     ::setrlimit(RLIMIT_FSIZE, &none);
                   }),
            kStorage);
}

// Waits until the path exists. Some folders on the way to it may not exist yet.
void wait_for(const std::filesystem::path& path) {
  const int changes = ::inotify_init1(IN_CLOEXEC);
  if (changes < 0) ::_exit(99);
  for (;;) {
    std::filesystem::path missing = path;
    while (::inotify_add_watch(changes, missing.parent_path().c_str(), IN_CREATE | IN_MOVED_TO) <
           0) {
      if (errno != ENOENT) ::_exit(99);
      missing = missing.parent_path();
    }
    if (::access(missing.c_str(), F_OK) == 0) {  // it has come before the watch, or just now
      if (missing == path) break;
      continue;
    }
    alignas(inotify_event) std::array<char, sizeof(inotify_event) + NAME_MAX + 1> event;
    if (::read(changes, event.data(), event.size()) < 0 && errno != EINTR) ::_exit(99);
  }
  ::close(changes);
}

// Sends the signal to this process once the path exists. If that never happens, the thread ends
// with the process.
void send_at(int signal, const std::filesystem::path& path) {
  std::thread([=] {
    wait_for(path);
    ::kill(::getpid(), signal);
  }).detach();
}

TEST(Signals, LeaveNoTemporaryFile) {
  const TempDir dir;
  constexpr int64_t kMany = 16 << 20;  // writing this many floats takes a while
  write_checkpoint(dir.path() / "run/checkpoints", 1,
                   {{"model/decoder/emb/weight", HostTensor::ones({kMany})}}, {});
  make_directories(dir / "out");
  const std::filesystem::path file = dir.path() / "out/file";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(end_of({"checkpoint", "export", dir / "run", file},
                     [&] { send_at(signal, fmt::format("{}.tmp-{}", file.string(), ::getpid())); }),
              -signal);
    EXPECT_TRUE(list_directory(dir / "out").empty()) << signal;
  }
}

// Sends a process the signal while it writes the files "a" and "b". Returns the exit code of the
// process, or the signal that ended it as a negative number. `before` is how the process handles
// the signal by itself.
int end_while_writing(const TempDir& dir, int signal, sighandler_t before = SIG_DFL) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit no_core = {};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(signal, before);
    const TemporaryFileCleanup end;
    write_atomically(dir / "a", [&](FileWriter&) {
      write_atomically(dir / "b", [&](FileWriter& b) {
        b.write("x");
        ::raise(signal);
      });
    });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Also covers writers without a verb, and several at once.
TEST(Signals, RemoveAllFilesThatAreBeingWritten) {
  for (const int signal : kTerminationSignals) {
    const TempDir dir;
    EXPECT_EQ(end_while_writing(dir, signal), -signal);
    EXPECT_TRUE(list_directory(dir.path()).empty()) << signal;
  }
}

TEST(Signals, IgnoredSignalsStayIgnored) {
  for (const int signal : kTerminationSignals) {
    const TempDir dir;
    EXPECT_EQ(end_while_writing(dir, signal, SIG_IGN), 0) << signal;
    EXPECT_EQ(list_directory(dir.path()).size(), 2u) << signal;
  }
}

TEST(Signals, KilledImportCanBeRepeated) {
  const std::string weights = TinyLlama({.hidden_dim = 1 << 15}).file();  // writing takes a while
  const std::string vocabulary = llama2c_vocabulary(trained_bpe());
  for (const int signal : {SIGINT, SIGKILL}) {
    int end = 0;
    for (int i = 0; i < 50 && end != -signal; ++i) {  // until the signal arrives in the middle
      const TempDir dir;
      replace_file(dir / "llama.bin", weights);
      replace_file(dir / "tok.bin", vocabulary);
      const Arguments import = {"import",        dir / "llama.bin", "--tokenizer",
                                dir / "tok.bin", "--out",           dir / "new"};
      const std::filesystem::path unfinished = dir.path() / "new/import.tmp";
      end = end_of(import, [&] { send_at(signal, unfinished / "checkpoints"); });
      if (path_exists(dir / "new/config.yaml")) end = 0;  // it came when all was moved
      if (end != -signal) continue;
      EXPECT_EQ(end_of(import, [] { put_in_place("/dev/null", {1}); }), 0);
      EXPECT_FALSE(path_exists(unfinished));
    }
    EXPECT_EQ(end, -signal);
  }
}

}  // namespace
}  // namespace axle
