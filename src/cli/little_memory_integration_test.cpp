// Tests a host whose memory runs out in the middle of the work.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "base/exit_code.h"
#include "cli/run_apart_test.h"
#include "io/file.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

TEST(LittleMemory, EndsTheProgramInOneLine) {
  const TempDir dir;
  const std::string errors = dir / "errors";
  for (int64_t mib = 16; mib <= 256; mib *= 2) {
    const auto prepare = [&] {
      const int fd = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      const rlimit no_core{};
      if (::dup2(fd, STDERR_FILENO) < 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0) ::_exit(99);
      static const LittleMemory limit(mib << 20);
    };
    EXPECT_EQ(
        end_of({"config", "check", "quickstart", "--data", "synthetic", "--set",
                "model.decoder.layers.num_layers=4000", "--set", "model.decoder.model_dim=16"},
               prepare),
        static_cast<int>(ExitCode::kDoesNotFit))
        << mib;
    EXPECT_THAT(read_file(errors), ::testing::MatchesRegex("axle: host memory: [^\n]*\n")) << mib;
  }
}

}  // namespace
}  // namespace axle
