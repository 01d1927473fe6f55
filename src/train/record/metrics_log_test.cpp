#include "train/record/metrics_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <functional>
#include <limits>

#include "base/error.h"
#include "testing/error_of.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Each line of a run has the time.
const Tree<double> kTime{{"wall_secs", 1}};

class MetricsLogTest : public ::testing::Test {
 protected:
  MetricsLog log(int64_t restored_step) {
    return MetricsLog({.dir = dir_.path(), .restored_step = restored_step});
  }
  std::string text() const { return read_file(path_); }

  TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "metrics.jsonl";
};

TEST_F(MetricsLogTest, EachRecordIsALineAtOnce) {
  MetricsLog log = this->log(0);
  log.write({.step = 1, .values = {{"wall_secs", 1}, {"loss", 2.5}, {"grad_norm", 0.125}}});
  EXPECT_EQ(text(), "{\"step\":1,\"grad_norm\":0.125,\"loss\":2.5,\"wall_secs\":1.0}\n");
  log.write({.step = 1, .split = "held_out", .values = {{"wall_secs", 1}, {"loss", 3}}});
  EXPECT_THAT(text(),
              ::testing::EndsWith(
                  "\n{\"step\":1,\"split\":\"held_out\",\"loss\":3.0,\"wall_secs\":1.0}\n"));
}

TEST_F(MetricsLogTest, NonFiniteNumbersAreNull) {
  log(0).write({.step = 2,
                .values = {{"wall_secs", 1}, {"loss", std::numeric_limits<double>::quiet_NaN()}}});
  EXPECT_EQ(text(), "{\"step\":2,\"loss\":null,\"wall_secs\":1.0}\n");
}

TEST_F(MetricsLogTest, AResumeCutsWhatCameAfterTheRestoredStep) {
  const std::string kept =
      "{\"step\":1,\"wall_secs\":1.0}\n{\"step\":2,\"wall_secs\":1.0}\n{\"step\":2,\"split\":\"a\","
      "\"wall_secs\":1.0}\n";
  replace_file(path_, kept +
                          "{\"step\":3,\"wall_secs\":1.0}\n{\"step\":3,\"split\":\"a\",\"wall_"
                          "secs\":1.0}\n{\"step\":4,\"lo");
  MetricsLog log = this->log(2);
  EXPECT_EQ(text(), kept);
  log.write(
      {.step = 2, .split = "a", .values = {{"wall_secs", 1}, {"loss", 1}}});  // already in the log
  EXPECT_EQ(text(), kept);
  log.write({.step = 2, .split = "b", .values = kTime});
  log.write({.step = 3, .values = kTime});
  EXPECT_EQ(
      text(),
      kept + "{\"step\":2,\"split\":\"b\",\"wall_secs\":1.0}\n{\"step\":3,\"wall_secs\":1.0}\n");
}

// A record is missing then; one that lacks only its end is not.
TEST_F(MetricsLogTest, ACutRecordOfAStepThatIsNotTakenAgainIsTold) {
  const std::string first = "{\"step\":1,\"wall_secs\":1.0}\n",
                    second = "{\"step\":2,\"wall_secs\":1.0}";
  const auto told = [&](const std::string& lines, int64_t restored_step) {
    replace_file(path_, lines);
    ::testing::internal::CaptureStderr();
    log(restored_step);
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string warning =
      "metrics.jsonl: expected the records of the steps up to 2, got one that a stop has cut";
  EXPECT_THAT(told(first + "{\"step\":2,\"wall_se", 2), HasSubstr(warning));
  EXPECT_EQ(text(), first);
  EXPECT_THAT(told(first + "{\"step\":2", 2), HasSubstr(warning)) << "or 20: it may be missing";
  EXPECT_THAT(told(first + std::string(9, '\0'), 2), HasSubstr(warning));
  EXPECT_EQ(told(first + second + "\n{\"step\":3,\"wall_se", 2), "");
  EXPECT_EQ(text(), first + second + "\n");
  EXPECT_EQ(told(first + second, 2), "");
  EXPECT_EQ(text(), first + second + "\n");
  EXPECT_EQ(told("{\"step\":1,\"wall_se", 0), "") << "the run starts over";
  EXPECT_EQ(told(first + second + "\n{\"step\":2,\"split\":\"a\",\"wa", 2), "")
      << "evaluated again";
  // Of an earlier step, as a disk that was full for a while leaves.
  EXPECT_THAT(told("{\"step\":1,\"wall_se\n" + second + "\n", 2), HasSubstr(warning));
  EXPECT_EQ(text(), second + "\n");
  const std::string fourth = "{\"step\":4,\"wall_secs\":1.0}\n";
  const std::string of_third = told(first + second + "\n{\"step\":3,\"wa\n" + fourth, 4);
  EXPECT_THAT(of_third, HasSubstr("up to 4, got one that a stop has cut"));
  EXPECT_EQ(std::ranges::count(of_third, '\n'), 1) << "it is told once: " << of_third;
  EXPECT_EQ(told(first + second + "\n{\"step\":", 2), "") << "of step 3";
}

// A log without the last records is no log of the run that was restored.
TEST_F(MetricsLogTest, MissingRecordsAreTold) {
  const auto told = [&](const std::vector<int64_t>& steps, int64_t restored, int64_t log_every) {
    std::string lines;
    for (const int64_t step : steps)
      lines += "{\"step\":" + std::to_string(step) + ",\"wall_secs\":1.0}\n";
    replace_file(path_, lines);
    ::testing::internal::CaptureStderr();
    MetricsLog({.dir = dir_.path(), .restored_step = restored, .log_every = log_every});
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told({1, 2, 3}, 9, 1),
              HasSubstr("metrics.jsonl: expected the records of the steps up to 9, got the last of "
                        "step 3; the checkpoint is not affected"));
  EXPECT_THAT(told({}, 9, 1), HasSubstr("up to 9, got none"));
  // Between others, too.
  EXPECT_THAT(told({1, 2, 5, 6, 9}, 9, 1),
              HasSubstr("metrics.jsonl: expected the records of the steps up to 9, got none of 4 "
                        "of them, the first of which is step 3; the checkpoint is not affected"));
  EXPECT_THAT(told({1, 4, 5, 6}, 6, 10),
              HasSubstr("got none of 2 of them, the first of which is step 2"));
  EXPECT_EQ(told({1, 2, 3, 4, 9}, 4, 1), "") << "those after the checkpoint are taken again";
  EXPECT_EQ(told({10, 20}, 29, 10), "");
  EXPECT_EQ(told({}, 9, 10), "") << "none is due";
  EXPECT_EQ(told({100, 200}, 250, 10), "") << "they were rarer before";
}

// A run whose checkpoints were removed, or that ended before its first one.
TEST_F(MetricsLogTest, RecordsWithoutACheckpointAreKeptAside) {
  const std::string before =
      "{\"step\":1,\"wall_secs\":1.0}\n# mine\n{\"step\":2,\"wall_secs\":1.0}\n";
  replace_file(path_, before);
  ::testing::internal::CaptureStderr();
  log(0);
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr(path_.string() + ": expected a checkpoint of the run with these 2 records"));
  EXPECT_EQ(text(), "# mine\n");
  EXPECT_EQ(read_file(dir_ / "metrics.jsonl.old"), before);
  ::testing::internal::CaptureStderr();
  log(0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(read_file(dir_ / "metrics.jsonl.old"), before);
}

TEST_F(MetricsLogTest, AFileThatIsTakenAwayIsToldAtOnceAndOnce) {
  const auto removed = [&] { remove_tree(path_); };
  const auto moved = [&] { std::filesystem::rename(path_, dir_.path() / "old.jsonl"); };
  const auto replaced = [&] { replace_file(path_, "of another\n"); };
  for (const std::function<void()>& take_away :
       {std::function<void()>(removed), {moved}, {replaced}}) {
    MetricsLog log = this->log(0);
    log.write({.step = 1, .values = kTime});
    take_away();
    EXPECT_THAT(error_of<StorageError>([&] { log.write({.step = 2, .values = kTime}); }),
                HasSubstr("metrics.jsonl: expected the file to stay in place during the run"));
    EXPECT_EQ(error_of<StorageError>([&] { log.write({.step = 3, .values = kTime}); }), "no error");
  }
  EXPECT_EQ(text(), "of another\n");
}

TEST_F(MetricsLogTest, LinesOfOthersStay) {
  const std::string others =
      "# changed the data here\n\n[1]\n{\"loss\":1}\n{\"step\":\"one\"}\n{\"step\":7,\"split\":7}\n"
      "{\"step\": 8, \"note\": \"mine\"}\n{\"step\":8,\"note\":\"mine\"}\n{\"step\": 9, \"bleu\": "
      "3}\n{\"step\":9,\"bleu\":3}\n{\"step\":9,\"split\":\"held_out\",\"loss\":0.1}\n";
  replace_file(path_, others +
                          "{\"step\":1,\"wall_secs\":1.0}\n# a\n{\"step\":3,\"wall_secs\":1.0}\n# "
                          "b\n{\"step\":4,\"lo\n{\"st\n# c");
  const RemainingLines kept = truncate_metrics_log(path_, 2);
  EXPECT_EQ(text(), others + "{\"step\":1,\"wall_secs\":1.0}\n# a\n# b\n# c\n");
  EXPECT_EQ(kept.num_lines, 15);
  EXPECT_TRUE(kept.last_splits.empty());
  // A second cut changes nothing more, and a long line of another stays too.
  const std::string long_line = std::string(17 << 20, 'x') + "\n", others_now = text();
  replace_file(path_, others_now + long_line + "{\"step\":5,\"wall_secs\":1.0}\n");
  truncate_metrics_log(path_, 2);
  EXPECT_TRUE(text() == others_now + long_line);
  // A crash may leave zeros.
  replace_file(path_, "{\"step\":1,\"wall_secs\":1.0}\n" + std::string(7, '\0') +
                          "\n{\"step\":2,\"wall_secs\":1.0}\n" + std::string(9, '\0'));
  truncate_metrics_log(path_, 2);
  EXPECT_EQ(text(), "{\"step\":1,\"wall_secs\":1.0}\n{\"step\":2,\"wall_secs\":1.0}\n");
}

TEST_F(MetricsLogTest, ALogLargerThanTheMemoryIsCut) {
  const std::string first = "{\"step\":1,\"note\":\"" + std::string(3 << 20, 'x') + "\"}\n";
  std::string lines = first;
  for (int i = 0; i < 1000; ++i)
    lines += "{\"step\":1,\"split\":\"a" + std::to_string(i) + "\",\"wall_secs\":1.0}\n";
  replace_file(path_, lines);
  std::filesystem::resize_file(path_, int64_t{1} << 30);  // zeros up to the end
  const LittleMemory little(int64_t{256} << 20);
  const RemainingLines kept = truncate_metrics_log(path_, 1);
  EXPECT_EQ(kept.num_lines, 1001);
  EXPECT_EQ(kept.last_splits.size(), 1000u);
  EXPECT_EQ(text(), lines);
}

TEST_F(MetricsLogTest, NothingIsCutWhereThereIsNoLog) {
  EXPECT_EQ(truncate_metrics_log(path_, 5).num_lines, 0);
  EXPECT_FALSE(path_exists(path_));
}

// Redirects standard error to a pipe, to which the limit of file sizes does not apply.
class PipedStderr {
 public:
  PipedStderr() : saved_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe(ends_), 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  std::string finish() {
    ::dup2(saved_, STDERR_FILENO);
    for (const int fd : {saved_, ends_[1]}) ::close(fd);
    std::string out;
    char buffer[1024];
    for (ssize_t n; (n = ::read(ends_[0], buffer, sizeof(buffer))) > 0;)
      out.append(buffer, static_cast<size_t>(n));
    ::close(ends_[0]);
    return out;
  }

 private:
  int saved_, ends_[2] = {};
};

TEST_F(MetricsLogTest, AFullDiskLosesCountedLinesAndNoOthers) {
  PipedStderr piped;
  {
    MetricsLog log = this->log(0);
    log.write({.step = 1, .values = kTime});
    {
      const FileSizeLimit limit(32);  // tears the second line
      log.write({.step = 2, .values = kTime});
      log.write({.step = 3, .values = kTime});
    }
    log.write({.step = 4, .values = kTime});
    log.flush();
  }
  const std::string told = piped.finish();
  EXPECT_EQ(text(), "{\"step\":1,\"wall_secs\":1.0}\n{\"ste\n{\"step\":4,\"wall_secs\":1.0}\n");
  EXPECT_EQ(truncate_metrics_log(path_, 9).num_lines, 2);
  EXPECT_THAT(told, HasSubstr("metrics.jsonl: cannot write"));
  EXPECT_THAT(told, HasSubstr("metrics are being lost, training goes on\n"));
  EXPECT_THAT(told, HasSubstr("2 lines were lost\n"));
}

}  // namespace
}  // namespace axle
