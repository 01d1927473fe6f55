// Tests a host whose memory runs out in the middle of the work.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/output.h"
#include "cli/run_apart_test.h"
#include "io/file.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Sends standard error to `path` and leaves room for this many MiB more.
void limit_memory(const std::string& path, int64_t mib) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const rlimit no_core{};
  if (::dup2(fd, STDERR_FILENO) < 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0) ::_exit(99);
  static const LittleMemory limit(mib << 20);
}

struct HoardOptions {};
// Takes all memory, down to the smallest pieces, while it holds JSON, whose destructor allocates.
const cli::Verb<HoardOptions> hoard_verb({
    .name = "test-hoard",
    .help = "Run out of memory",
    .add = [](CLI::App&, HoardOptions&, cli::Output&) {},
    .run = [](const HoardOptions&, cli::Output&) -> ExitCode {
      const nlohmann::ordered_json nested = {{"a", {{"b", {1, {2, 3}}}}}};
      for (size_t bytes = size_t{1} << 20; bytes > 0; bytes /= 2) {
        while (void* volatile piece = std::malloc(bytes)) (void)piece;
      }
      return std::string(1000, ' ').empty() ? ExitCode::kUser : ExitCode::kOk;
    },
});

TEST(LittleMemory, EndsInOneLineIfMemoryIsFreedOnTheWayOut) {
  const TempDir dir;
  const std::string errors = dir / "errors";
  EXPECT_EQ(end_of({"test-hoard"}, [&] { limit_memory(errors, 32); }),
            static_cast<int>(ExitCode::kDoesNotFit));
  EXPECT_THAT(read_file(errors), ::testing::MatchesRegex("axle: host memory: [^\n]*\n"));
}

TEST(LittleMemory, EndsTheProgramInOneLine) {
  const TempDir dir;
  const std::string errors = dir / "errors";
  for (int64_t mib = 16; mib <= 256; mib *= 2) {
    EXPECT_EQ(
        end_of({"config", "check", "quickstart", "--data", "synthetic", "--set",
                "model.decoder.layers.num_layers=4000", "--set", "model.decoder.model_dim=16"},
               [&] { limit_memory(errors, mib); }),
        static_cast<int>(ExitCode::kDoesNotFit))
        << mib;
    EXPECT_THAT(read_file(errors), ::testing::MatchesRegex("axle: host memory: [^\n]*\n")) << mib;
  }
}

}  // namespace
}  // namespace axle
