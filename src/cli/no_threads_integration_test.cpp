// Tests a system that grants no second thread.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/run_apart_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Becomes the user nobody with a limit of one thread, and sends standard error to `path`. Limits do
// not stop root.
void become_nobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  const rlimit one{.rlim_cur = 1, .rlim_max = 1};
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (::dup2(fd, STDERR_FILENO) < 0 || ::setrlimit(RLIMIT_NPROC, &one) != 0 ||
      (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0))
    ::_exit(99);
}

TEST(NoThreads, RunsThatNeedAThreadAreRefusedInOneLine) {
  const TempDir dir;
  ::chmod(dir.path().c_str(), 0777);
  EXPECT_EQ(end_of(tiny_training(dir / "run"), [&] { become_nobody(dir / "errors"); }),
            static_cast<int>(ExitCode::kDevice));
  EXPECT_EQ(read_file(dir / "errors"),
            "axle: the host: expected to start one more thread, got a refusal; raise the limit of "
            "processes (ulimit -u, or that of the container)\n");
  EXPECT_FALSE(path_exists(dir / "run")) << "a start that is refused leaves nothing behind";
}

TEST(NoThreads, VerbsThatNeedNoThreadsSucceed) {
  const TempDir dir;
  ::chmod(dir.path().c_str(), 0777);
  EXPECT_EQ(end_of({"config", "list"}, [&] { become_nobody(dir / "errors"); }), 0);
  EXPECT_EQ(read_file(dir / "errors"), "");
}

}  // namespace
}  // namespace axle
