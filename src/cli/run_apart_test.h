// Runs the program in a process of its own, in surroundings that a test has prepared.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "cli/run_test.h"

namespace axle {

/// Runs `prepare` and then `axle <arguments>` in a child process. Returns its exit code, or minus
/// the signal that ended it.
inline int end_of(Arguments arguments, const std::function<void()>& prepare) {
  std::fflush(stdout);  // else the child would print the buffer as well
  const pid_t pid = ::fork();
  if (pid == 0) {
    prepare();
    ::_exit(run_cli(std::move(arguments)));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// The arguments of a training run of three steps on the interpreter.
inline Arguments tiny_training(const std::string& dir) {
  return joined({"train", "quickstart", "--backend", "interpreter", "--dir", dir, "--data",
                 "synthetic", "--steps", "3", "--set", "log_every_steps=1"},
                tiny_quickstart());
}

}  // namespace axle
