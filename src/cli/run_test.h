// Runs the program inside a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/run_cli.h"

namespace axle {

struct Ran {
  int code = 0;
  std::string out, err;
};

/// Runs `axle <arguments>` and captures its output.
inline Ran run_axle(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "axle");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run_cli(static_cast<int>(arguments.size()), argv.data());
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace axle
