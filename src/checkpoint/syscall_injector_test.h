// Stops a child process before and after each of its system calls with ptrace, and there kills it
// or makes the call fail.
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

namespace axle {

/// How a child ended.
struct ChildEnd {
  bool refused = false;  // this system does not permit tracing
  bool killed = false;   // killed at the requested stop; false: it ended before
  int exit_code = -1;
};

/// Runs a function in a child process and disturbs its system calls.
class SyscallInjector {
 public:
  /// Runs `body` in the child; its result is the child's exit code. `body` must not start threads.
  explicit SyscallInjector(std::function<int()> body) : body_(std::move(body)) {}

  /// Sends SIGKILL at the n-th stop (from 0). There is a stop before and after each system call.
  ChildEnd kill_at(int n) {
    int stop = 0;
    return run([&stop, n](pid_t pid, const Call&) {
      if (stop++ == n) ::kill(pid, SIGKILL);
    });
  }

#if defined(__x86_64__)
  /// Makes the n-th call (from 0) whose number `matches` accepts fail with `error`; the call is not
  /// executed. Afterwards, hit() is true if there was such a call.
  ChildEnd fail_at(int n, int error, const std::function<bool(uint64_t)>& matches) {
    int seen = 0;
    hit_ = false;
    const auto is_nth = [&](uint64_t number) {
      const bool now = matches(number) && seen++ == n;
      hit_ = hit_ || now;
      return now;
    };
    return run(failure(error, is_nth));
  }
  /// From now on, every call of this number fails with `error`, in addition to kill_at() or
  /// fail_at().
  void refuse(uint64_t number, int error) {
    always_ = failure(error, [number](uint64_t called) { return called == number; });
  }
#endif
  bool hit() const { return hit_; }

 private:
  using Call = __ptrace_syscall_info;
  using AtStop = std::function<void(pid_t, const Call&)>;

#if defined(__x86_64__)
  static AtStop failure(int error, std::function<bool(uint64_t)> is_meant) {
    return [error, is_meant, failing = false](pid_t pid, const Call& call) mutable {
      user_regs_struct regs;
      if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
        failing = is_meant(call.entry.nr);
        if (!failing) return;
        ::ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
        regs.orig_rax = static_cast<unsigned long long>(-1);  // an invalid call: nothing is done
      } else {
        if (!failing) return;
        failing = false;
        ::ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
        regs.rax = static_cast<unsigned long long>(-error);
      }
      ::ptrace(PTRACE_SETREGS, pid, nullptr, &regs);
    };
  }
#endif

  ChildEnd run(const AtStop& at_stop) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kRefused);
      ::raise(SIGSTOP);
      ::_exit(body_());
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (!WIFSTOPPED(status)) return {.refused = true};
    ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    long signal = 0;
    while (true) {
      ::ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
      ::waitpid(pid, &status, 0);
      if (WIFSIGNALED(status)) return {.killed = WTERMSIG(status) == SIGKILL};
      if (WIFEXITED(status)) return {.exit_code = WEXITSTATUS(status)};
      const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
      signal = at_call ? 0 : WSTOPSIG(status);
      Call call{};
      if (at_call && ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call) > 0) {
        if (always_) always_(pid, call);
        at_stop(pid, call);
      }
    }
  }

  static constexpr int kRefused = 99;
  std::function<int()> body_;
  AtStop always_;
  bool hit_ = false;
};

}  // namespace axle
