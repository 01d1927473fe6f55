#include "runtime/compiler_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

namespace axle {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kLine =
    "W1121 23:12:12.335242    2503 hlo_rematerialization.cc:3402] Can't reduce memory use below "
    "51.84GiB (55660090558 bytes) by rematerialization; only reduced to 69.15GiB\n";

void write_to_stderr(std::string_view text) {
  ASSERT_EQ(::write(STDERR_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(CompilerLog, TakesWhatTheProcessWritesToStandardError) {
  ::testing::internal::CaptureStderr();
  std::string taken;
  {
    CompilerLog log;
    write_to_stderr(kLine);
    std::fputs("and by stdio\n", stderr);
    taken = log.text();
    write_to_stderr("afterwards\n");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "afterwards\n");
  EXPECT_EQ(taken, fmt::format("{}and by stdio\n", kLine));
}

// An exception on the way must not cost what was written.
TEST(CompilerLog, PassesOnWhatNobodyTook) {
  ::testing::internal::CaptureStderr();
  {
    const CompilerLog log;
    write_to_stderr("a line\n");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "a line\n");
}

TEST(CompilerLogDeathTest, AnAbortedProcessShowsIt) {
  EXPECT_DEATH(
      {
        const CompilerLog log;
        write_to_stderr("Check failed: the reason\n");
        std::abort();
      },
      "Check failed: the reason");
}

TEST(CompilerLog, WarningsAreReadOnceEach) {
  const std::string log = fmt::format(
      "{0}I1121 23:12:12.3 1 a.cc:1] information\n"
      "W1121 23:11:29.386169    2503 shardy_xla_pass.cc:431] Module contains "
      "sdy shardings or meshes\nplain text\n"
      "{0}E1121 23:12:12.3 1 b.cc:2] failed\nW1121 no end\n",
      kLine);
  EXPECT_THAT(compiler_warnings(log),
              ElementsAre("Can't reduce memory use below 51.84GiB (55660090558 bytes) by "
                          "rematerialization; only reduced to 69.15GiB",
                          "failed"));
  EXPECT_THAT(compiler_warnings(""), ElementsAre());
}

}  // namespace
}  // namespace axle
