#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/parallel.h"

namespace axle {
namespace {

// Returns the result of `f` in a child process that may not start a second thread. The child runs
// as nobody, because limits do not apply to root.
bool without_threads(const std::function<bool()>& f) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr uid_t kNobody = 65534;
    const rlimit one{.rlim_cur = 1, .rlim_max = 1};
    if (::setrlimit(RLIMIT_NPROC, &one) != 0) ::_exit(2);
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(2);
    ::_exit(f() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_LT(WEXITSTATUS(status), 2);
  return WEXITSTATUS(status) == 1;
}

TEST(Threads, FailureToStartIsReported) {
  const auto try_one = [] {
    std::thread thread;
    const bool started = try_start(thread, [] {});
    if (started) thread.join();
    return started;
  };
  EXPECT_TRUE(try_one());
  EXPECT_FALSE(without_threads(try_one));
}

TEST(Threads, DeferredWorkKeepsItsCaptures) {
  const auto sum_of_held = [] {
    auto task = start_or_defer(
        [held = std::vector<int>{3, 4}] { return held.size() == 2 && held[0] + held[1] == 7; });
    return task.get();
  };
  EXPECT_TRUE(sum_of_held());
  EXPECT_TRUE(without_threads(sum_of_held));
}

TEST(Threads, CanStartReportsWhetherSeveralThreadsAreAvailable) {
  EXPECT_TRUE(can_start(0));
  EXPECT_TRUE(can_start(8));
  EXPECT_FALSE(without_threads([] { return can_start(8); }));
}

}  // namespace
}  // namespace axle
