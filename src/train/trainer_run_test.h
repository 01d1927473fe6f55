// Whole training runs of a tiny model in this process, on the interpreter unless a test says
// otherwise.
#pragma once

#include <gmock/gmock.h>

#include "base/error.h"
#include "config/register.h"
#include "testing/temp_dir.h"
#include "train/run_result_test.h"
#include "train/tiny_config_test.h"
#include "train/trainer.h"

namespace axle {

// The outcome of a run, with what it printed.
struct Ended {
  ExitCode code = ExitCode::kOk;
  std::string error, out, err;
};

class TrainerTest : public ::testing::Test {
 protected:
  Ended train(const Trainer::Config& config, const std::string& name = "run", bool resume = true,
              bool force = false) {
    return train(config, name, RunOptions{.dir = {}, .resume = resume, .force = force});
  }
  Ended train(const Trainer::Config& config, const std::string& name, RunOptions options) {
    options.dir = dir_ / name;
    options.backend = backend_;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Ended ended;
    try {
      ended.code = Trainer(config, std::move(options)).run();
    } catch (const Error& error) {
      ended.code = error.code();
      ended.error = error.what();
    } catch (...) {  // an exception of another library: a bug
      ended.code = ExitCode::kInternal;
    }
    ended.out = ::testing::internal::GetCapturedStdout();
    ended.err = ::testing::internal::GetCapturedStderr();
    return ended;
  }
  std::filesystem::path run(const std::string& name = "run") const { return dir_ / name; }

  const TempDir dir_;
  std::string backend_ = "interpreter";
};

inline Trainer::Config config_of(int64_t max_steps) {
  Trainer::Config config = tiny_config();
  config.max_steps = max_steps;
  return config;
}

}  // namespace axle
