// Gets the message of the error that a function throws when permissions stop it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

#include "testing/error_of.h"

namespace axle {

/// Calls error_of<E>(f) in a process of the user nobody, since permissions do not stop root.
template <class E>
std::string error_of_unprivileged(const std::function<void()>& f) {
  int pipe[2];
  if (::pipe(pipe) != 0) return "no pipe";
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(1);
    const std::string error = error_of<E>(f);
    ::_exit(::write(pipe[1], error.data(), error.size()) < 0);
  }
  ::close(pipe[1]);
  ::waitpid(pid, nullptr, 0);
  char text[4096] = {};
  const ssize_t size = ::read(pipe[0], text, sizeof text);
  ::close(pipe[0]);
  return {text, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace axle
