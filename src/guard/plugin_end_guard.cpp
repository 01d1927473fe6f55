#include "guard/plugin_end_guard.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>

#include "base/console.h"
#include "base/error.h"
#include "base/host_memory.h"

namespace axle {
namespace {

// The signals by which faulty code ends a process.
struct SignalRow {
  int signal;
  std::string_view name;
  struct sigaction before = {};
};
SignalRow g_signals[] = {{SIGABRT, ""},  // abort is preceded by a printed reason
                         {SIGSEGV, " (SIGSEGV)"},
                         {SIGBUS, " (SIGBUS)"},
                         {SIGILL, " (SIGILL: an instruction that this processor lacks)"},
                         {SIGFPE, " (SIGFPE)"}};

// The address range of a plugin's code. Never destroyed, because a signal handler reads it.
struct Watched {
  std::string where;
  uintptr_t begin = 0, end = 0;
  const Watched* next = nullptr;
};

// Held while a guard is alive. Only one thread may have guards at a time, because stderr and signal
// handlers belong to the process.
std::recursive_mutex g_one_thread;
std::atomic<PluginEndGuard*> g_innermost = nullptr;
std::atomic<const Watched*> g_watched = nullptr;
std::terminate_handler g_terminate_before = nullptr;
// Static buffers, because a signal handler must not allocate. The handler runs on a stack of its
// own, in case the thread's stack has overflowed.
char g_printed[1 << 16];
alignas(64) char g_signal_stack[1 << 16];

// The state of a thread: it has never called a plugin, is inside a call, or has left one. A signal
// handler reads t_calls, so its storage must exist without allocation (initial-exec).
enum class Calls { kNever, kInside, kLeft };
thread_local Calls t_calls __attribute__((tls_model("initial-exec"))) = Calls::kNever;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

// Returns the plugin that has a return address on the stack of this thread, so that its code has
// called the code that runs now; nullptr if there is none. The stack is read through
// /proc/self/mem, so that reading beyond its end is an error and not a fault.
const Watched* plugin_on_stack() {
  constexpr off_t kMax = 1 << 16;
  if (t_calls == Calls::kLeft) return nullptr;  // addresses of an earlier call may be left over
  const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return nullptr;
  const auto start = static_cast<off_t>(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  std::array<uintptr_t, 128> words;
  for (off_t at = start; at < start + kMax; at += sizeof words) {
    const ssize_t size = ::pread(memory, words.data(), sizeof words, at);
    for (size_t i = 0; size > 0 && i < static_cast<size_t>(size) / sizeof words[0]; ++i) {
      for (const Watched* one = g_watched; one; one = one->next) {
        if (one->begin <= words[i] && words[i] < one->end) return one;
      }
    }
    if (size < static_cast<ssize_t>(sizeof words)) break;
  }
  ::close(memory);
  return nullptr;
}

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// True for the first thread that ends the process. Other threads that crash meanwhile wait here
// until the process has ended.
bool is_first_to_end() {
  static std::atomic<pid_t> first = 0;
  const pid_t self = this_thread();
  pid_t other = 0;
  if (first.compare_exchange_strong(other, self)) return true;
  while (other != self) ::pause();
  return false;
}

}  // namespace

// Reports that a plugin ends the process, either in a call of ours or in a thread of its own.
struct PluginEnd {
  /// Prints the line and exits; returns if no plugin is involved. `reason` is printed if the plugin
  /// has not printed a reason itself.
  static void end_process(std::string_view reason, std::string_view signal) {
    const PluginEndGuard* const inner = g_innermost;
    const Watched* const plugin = plugin_on_stack();
    if (inner && (plugin || inner->thread_ == this_thread())) {
      if (!is_first_to_end()) return;
      const ssize_t size = ::pread(inner->held_, g_printed, sizeof g_printed, inner->taken_);
      const std::string_view printed =
          end_reason({g_printed, static_cast<size_t>(std::max<ssize_t>(size, 0))},
                     reason.empty() && signal.empty() ? EndKind::kOnPurpose : EndKind::kFault);
      const PluginEndGuard* outermost = inner;
      while (outermost->outer_) outermost = outermost->outer_;
      tell(outermost->before_ >= 0 ? outermost->before_ : STDERR_FILENO, inner->where_,
           inner->purpose_, printed.empty() ? reason : printed, signal);
    } else if (plugin) {
      if (is_first_to_end()) tell(STDERR_FILENO, plugin->where, "run programs", reason, signal);
    }
  }

  /// Handler of exit(). It only acts while a guard is alive.
  static void at_exit() {
    if (g_innermost) end_process({}, {});
  }

 private:
  [[noreturn]] static void tell(int fd, std::string_view where, std::string_view purpose,
                                std::string_view reason, std::string_view signal) {
    const bool is_flag = reason.find("flag") != reason.npos || reason.find("FLAGS") != reason.npos;
    rlimit memory = {};
    const bool is_limited =
        ::getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY;
    for (const std::string_view part :
         {std::string_view("axle: "), where, std::string_view(": expected it to "), purpose,
          std::string_view(", got the end of the process: "),
          reason.empty() ? std::string_view("no reason given") : reason, signal,
          std::string_view(is_flag      ? "; check the variables XLA_FLAGS and LIBTPU_INIT_ARGS"
                           : is_limited ? "; ulimit -v may limit its memory too much"
                                        : ""),
          std::string_view("\n")})
      write_all(fd, part);
    ::_exit(static_cast<int>(is_flag ? ExitCode::kUser : ExitCode::kDevice));
  }
};

namespace {

extern "C" void on_signal_of_end(int signal, siginfo_t* info, void*) {
  const auto* const row = std::ranges::find(g_signals, signal, &SignalRow::signal);
  const bool is_sent = info->si_code == SI_USER && info->si_pid != ::getpid();
  if (!is_sent) PluginEnd::end_process({}, row->name);
  ::sigaction(signal, &row->before, nullptr);
  ::raise(signal);  // delivered to the earlier handler when this one returns
}

// Called for an uncaught exception. The reason is the exception's text, which libstdc++ would
// print.
[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception()) throw;
    PluginEnd::end_process({}, {});
  } catch (const std::exception& error) {
    PluginEnd::end_process(error.what(), {});
  } catch (...) {
    PluginEnd::end_process({}, {});
  }
  g_terminate_before();
  std::abort();
}

// Installs the handlers. Each guard does so again, because a plugin may have installed its own.
void take_signals() {
  for (SignalRow& row : g_signals) {
    struct sigaction action = {}, now = {};
    action.sa_sigaction = on_signal_of_end;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (::sigaction(row.signal, &action, &now) == 0 && now.sa_sigaction != on_signal_of_end)
      row.before = now;
  }
  if (const auto now = std::set_terminate(on_terminate); now != on_terminate)
    g_terminate_before = now;
}

}  // namespace
}  // namespace axle

// Replaces libc's _exit. XLA ends the process by _exit(1) for a flag that it does not know, and
// nothing else reports that. A plugin's calls bind to this definition, because the program is
// searched before libc. For other callers it behaves as libc's does.
extern "C" void _exit(int code) {  // [[noreturn]] in <unistd.h>
  constexpr int kOfPlugins = 1;
  if (code == kOfPlugins) axle::PluginEnd::at_exit();
  while (true) ::syscall(SYS_exit_group, code);
}

namespace axle {

std::string_view end_reason(std::string_view printed, EndKind kind) {
  std::string_view last;
  // True for warnings and notes:
  //   W0000 00:00:1795302568.3111 491 spmd.cc:2] ...
  //   loc("x"): warning: ...
  const auto tells_no_end = [](std::string_view line) {
    const bool is_log = line.size() > 1 && (line[0] == 'W' || line[0] == 'I') &&
                        std::isdigit(static_cast<unsigned char>(line[1]));
    return is_log || line.find("warning:") != line.npos;
  };
  while (!printed.empty()) {
    std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(line.size() + 1, printed.size()));
    if (line.empty() || line.starts_with("WARNING: All log messages")) continue;
    // "F0000 00:00:1795302568.3111 491 parse_flags_from_env.cc:234] Unknown flag ..."
    const bool is_error = line.size() > 1 && (line[0] == 'E' || line[0] == 'F') &&
                          std::isdigit(static_cast<unsigned char>(line[1]));
    if (const size_t end = line.find("] "); is_error && end != line.npos)
      return line.substr(end + 2);
    if (kind == EndKind::kOnPurpose && !tells_no_end(line)) last = line;
  }
  // An uncaught exception prints "  what():  std::bad_alloc".
  if (const size_t what = last.find("what():  "); what != last.npos) last.remove_prefix(what + 9);
  return last;
}

void enter_plugin() { t_calls = Calls::kInside; }
void leave_plugin() { t_calls = Calls::kLeft; }

void watch_plugin_end(const std::string& where, const void* code) {
  struct Search {
    uintptr_t code, begin = 0, end = 0;
  } search{.code = reinterpret_cast<uintptr_t>(code)};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const uintptr_t begin = object->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
          if (part.p_type != PT_LOAD || found.code < begin || found.code >= end) continue;
          found.begin = begin;
          found.end = end;
        }
        return found.end == 0 ? 0 : 1;
      },
      &search);
  const std::lock_guard lock(g_one_thread);
  g_watched = new Watched{where, search.begin, search.end, g_watched};
  take_signals();
}

PluginEndGuard::PluginEndGuard(const std::string& where, std::string_view purpose)
    : outer_((g_one_thread.lock(), g_innermost.load())), thread_(this_thread()) {
  [[maybe_unused]] static const int registered = std::atexit(PluginEnd::at_exit);
  where_[where.copy(where_, sizeof where_ - 1)] = '\0';
  purpose_[purpose.copy(purpose_, sizeof purpose_ - 1)] = '\0';
  std::fflush(stderr);
  held_ = ::memfd_create("stderr", MFD_CLOEXEC);
  before_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (held_ >= 0 && before_ >= 0) ::dup2(held_, STDERR_FILENO);
  if (!outer_) {
    const stack_t own = {.ss_sp = g_signal_stack, .ss_flags = 0, .ss_size = sizeof g_signal_stack};
    ::sigaltstack(&own, &stack_before_);
  }
  take_signals();
  g_innermost = this;
}

std::string PluginEndGuard::take_text() {
  std::fflush(stderr);
  std::string out;
  std::array<char, 1 << 12> part;
  for (ssize_t n = 0; (n = ::pread(held_, part.data(), part.size(), taken_)) > 0; taken_ += n)
    out.append(part.data(), static_cast<size_t>(n));
  return out;
}

PluginEndGuard::~PluginEndGuard() {
  std::string rest;
  while_memory_lasts([&] { rest = take_text(); });
  g_innermost = outer_;
  if (!outer_) ::sigaltstack(&stack_before_, nullptr);
  if (held_ >= 0 && before_ >= 0) ::dup2(before_, STDERR_FILENO);
  write_with_timeout(STDERR_FILENO, rest, std::chrono::seconds(1));
  if (before_ >= 0) ::close(before_);
  if (held_ >= 0) ::close(held_);
  g_one_thread.unlock();
}

namespace {

class EndWatch final : public PluginWatch {
 public:
  void loaded(const std::string& where, const void* code) override {
    watch_plugin_end(where, code);
  }
  void enter() override { enter_plugin(); }
  void leave() override { leave_plugin(); }
  std::unique_ptr<Guard> guard(const std::string& where, std::string_view purpose) override {
    return std::make_unique<PluginEndGuard>(where, purpose);
  }
};

}  // namespace

void install_plugin_end_guard() {
  // Never destroyed, because threads may call plugins until the process has ended.
  static PluginWatch* const watch = new EndWatch;
  set_plugin_watch(watch);
}

}  // namespace axle
