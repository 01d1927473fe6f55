// Runs the program in a process of its own, in surroundings that a test has prepared.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cli/run_cli.h"

namespace axle {

using Arguments = std::vector<std::string>;

/// Runs `prepare` and then `axle <arguments>` in a child process. Returns its exit code, or minus
/// the signal that ended it.
inline int end_of(Arguments arguments, const std::function<void()>& prepare) {
  std::fflush(stdout);  // else the child would print the buffer as well
  const pid_t pid = ::fork();
  if (pid == 0) {
    arguments.insert(arguments.begin(), "axle");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    prepare();
    ::_exit(run_cli(static_cast<int>(arguments.size()), argv.data()));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// The arguments of a training run of three steps on the interpreter.
inline Arguments tiny_training(const std::string& dir) {
  Arguments out = {"train", "quickstart", "--backend", "interpreter", "--dir",
                   dir,     "--data",     "synthetic", "--steps",     "3"};
  for (const char* field :
       {"model.decoder.model_dim=8", "model.decoder.layers.num_layers=1",
        "model.decoder.layers.layer.attention.body.num_heads=2",
        "model.decoder.layers.layer.attention.body.num_kv_heads=2", "input.seq_len=16",
        "input.batch_size=2", "log_every_steps=1", "evalers={}"})
    out.insert(out.end(), {"--set", field});
  return out;
}

}  // namespace axle
