#include "train/record/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/host_memory.h"
#include "base/text/text_table.h"

namespace axle {
namespace {

using ::testing::MatchesRegex;

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(59.4), "59s");
  EXPECT_EQ(duration_text(59.6), "1m00s");
  EXPECT_EQ(duration_text(200), "3m20s");
  EXPECT_EQ(duration_text(3720), "1h02m");
}

TEST(Progress, ResidentMemoryIsThatOfThisProcess) {
  const int64_t before = resident_bytes();
  EXPECT_GT(before, 1 << 20);
  const std::vector<char> touched(64 << 20, 1);
  EXPECT_GT(resident_bytes(), before + (32 << 20));
  EXPECT_EQ(touched.back(), 1);
}

// If standard output is not a terminal, there is one line every third step, for the first and for
// the last step.
TEST(Progress, PlainLines) {
  ::testing::internal::CaptureStdout();
  {
    Progress progress(8, 3);
    for (int64_t step = 1; step <= 8; ++step) {
      progress.step({.step = step, .values = {{"loss", 2.5}, {"grad_norm", 0.25}}},
                    {.tokens_per_sec = 1234.4, .mfu = step == 8 ? 0 : 0.5, .step_secs = 10});
    }
    progress.note("a note");
  }
  EXPECT_THAT(
      ::testing::internal::GetCapturedStdout(),
      MatchesRegex("step 1/8  loss 2.5000  grad 0.250  1234 tok/s  mfu 50.0%  eta 1m10s  "
                   "host mem [0-9]+ MB\n"
                   "step 3/8  loss .*  eta 50s .*\n"
                   "step 6/8  loss .*  eta 20s .*\n"
                   "step 8/8  loss 2.5000  grad 0.250  1234 tok/s  eta 0s  host mem [0-9]+ MB\n"
                   "a note\n"));
}

TEST(StepLine, ANarrowScreenShowsWholeFields) {
  const auto line = [](size_t columns, int64_t step = 6) {
    return step_line({.step = step, .values = {{"loss", 2.5}, {"grad_norm", 0.25}}},
                     {.tokens_per_sec = 1234.4, .mfu = 0.5, .step_secs = 10}, 6, columns);
  };
  EXPECT_THAT(line(200), MatchesRegex("\\[={24}\\] step 6/6  loss 2.5000  grad 0.250  1234 tok/s  "
                                      "mfu 50.0%  eta 0s  host mem [0-9]+ MB"));
  EXPECT_THAT(line(200, 3), MatchesRegex("\\[={12}> {11}\\] step 3/6  .*"));
  const std::string all = line(200).substr(27);
  EXPECT_THAT(line(all.size() + 12), MatchesRegex("\\[={9}\\] step .* mem [0-9]+ MB"));
  EXPECT_THAT(line(all.size() + 7), MatchesRegex("\\[={4}\\] step .* mem [0-9]+ MB"));
  for (const size_t more : {0, 6})
    EXPECT_THAT(line(all.size() + more), MatchesRegex("step .* mem [0-9]+ MB"));
  const std::string to_eta = "step 6/6  loss 2.5000  grad 0.250  1234 tok/s  mfu 50.0%  eta 0s";
  for (size_t columns = 1; columns < all.size(); ++columns) {
    const std::string shown = line(columns);
    EXPECT_TRUE(to_eta.starts_with(shown) &&
                (shown.size() == to_eta.size() || to_eta.substr(shown.size()).starts_with("  ")))
        << shown;
    EXPECT_TRUE(shown.size() <= columns || shown == "step 6/6") << shown;
  }
  EXPECT_EQ(line(40), "step 6/6  loss 2.5000  grad 0.250");
}

TEST(LongWait, ReportsComeAtDoublingTimes) {
  ::testing::internal::CaptureStdout();
  {
    Progress progress(8, 3);
    const LongWait wait(progress, "step 1", /*expected_secs=*/3600, /*first_line_secs=*/0.02);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, ::testing::StartsWith("step 1: 0s so far, at least 1h00m to go\n"));
  const auto lines = std::ranges::count(out, '\n');
  EXPECT_GE(lines, 2);
  EXPECT_LE(lines, 4);  // after 0.02, 0.04, 0.08 and 0.16 s
}

TEST(LongWait, TheTimeLeftIsReported) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress(0, 1, STDERR_FILENO);
    LongWait wait(progress, "evaluating", 0, /*first_line_secs=*/0.02);
    wait.done(0.001);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    wait.done(1);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::ContainsRegex("^evaluating: 0s so far, about [1-9][0-9]*s to go\n"));
}

TEST(LongWait, SaysNothingOfWhatIsShort) {
  ::testing::internal::CaptureStdout();
  {
    Progress progress(8, 3);
    const LongWait wait(progress, "compiling the step");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Progress, AFullDiskBehindStandardOutputStopsNothing) {
  std::fflush(stdout);
  const int saved = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  ::dup2(full, STDOUT_FILENO);
  {
    Progress progress(8, 1);
    EXPECT_NO_THROW(progress.note("a note"));
    EXPECT_NO_THROW(progress.step({.step = 1, .values = {{"loss", 2.5}}}, {}));
  }
  ::dup2(saved, STDOUT_FILENO);
  std::clearerr(stdout);
  for (const int fd : {saved, full}) ::close(fd);
}

}  // namespace
}  // namespace axle
