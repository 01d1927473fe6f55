// Standard streams that are closed, full or gone: a result that is lost is an error, what training
// prints is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/exit_code.h"
#include "cli/run_apart_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

constexpr int kStorage = static_cast<int>(ExitCode::kStorage);

void put_in_place(const char* path, std::initializer_list<int> descriptors) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  for (const int descriptor : descriptors) ::dup2(fd, descriptor);
}

// A pipe that nobody reads.
void lose_reader() {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) ::_exit(99);
  ::dup2(pipe[1], STDOUT_FILENO);
  ::dup2(pipe[1], STDERR_FILENO);
  ::close(pipe[0]);
}

void expect_whole(const std::filesystem::path& run) {
  EXPECT_THAT(read_file(run / "lock"), testing::MatchesRegex("[0-9]+\n"));
  std::istringstream lines(read_file(run / "metrics.jsonl"));
  int num_lines = 0;
  for (std::string line; std::getline(lines, line); ++num_lines)
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
  EXPECT_EQ(num_lines, 3);
}

TEST(Console, StreamsThatWereClosedAtTheStartTakeNoFilesNumber) {
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

TEST(Console, AFullOneStopsNoTraining) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"), [] { put_in_place("/dev/full", {1, 2}); }), 0);
  expect_whole(dir.path() / "run");
}

TEST(Console, OneThatIsGoneStopsNoTraining) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"), lose_reader), 0);
  expect_whole(dir.path() / "run");
}

TEST(Console, AResultThatIsLostIsAnError) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"--version"}, Arguments{}, Arguments{"config", "--help"},
        Arguments{"config"}, Arguments{"config", "list"}, Arguments{"config", "show", "quickstart"},
        Arguments{"params", "quickstart", "--json"}, Arguments{"completion", "bash"}}) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/null", {1}); }), 0);
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/full", {1}); }), kStorage);
    EXPECT_EQ(end_of(arguments, [] { put_in_place("/dev/full", {1, 2}); }), kStorage);
    EXPECT_EQ(end_of(arguments, [] { ::close(1); }), kStorage);
    // As every filter does: `axle config list | head -1` ends in silence.
    EXPECT_EQ(end_of(arguments, lose_reader), -SIGPIPE);
  }
}

// `ulimit -f`
TEST(Console, AFileThatMayNotGrowIsNoCrash) {
  const TempDir dir;
  EXPECT_EQ(end_of(tiny_training(dir / "run"),
                   [] {
                     const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
                     ::setrlimit(RLIMIT_FSIZE, &none);
                   }),
            kStorage);
}

}  // namespace
}  // namespace axle
