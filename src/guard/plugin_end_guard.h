// Reporting plugins that end the process instead of returning an error. The program `axle` alone
// has this: it replaces libc's _exit and takes the process's signals and standard error, which a
// library leaves to the program that links it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "pjrt/plugin/plugin_watch.h"

namespace axle {

/// Makes what follows the program's PluginWatch.
void install_plugin_end_guard();

/// Watches a loaded plugin for the rest of the process. If the plugin's code then ends the process
/// by a signal or an uncaught exception, in any thread and without a PluginEndGuard, the process
/// prints one line and exits with kDevice:
///   `<where>: expected it to run programs, got the end of the process: ...`
/// What the plugin has printed before that stays above this line. `code` is the address of any
/// function of the plugin. Signals that other processes send or that our own code raises keep their
/// usual effect.
void watch_plugin_end(const std::string& where, const void* code);

/// This thread enters a plugin's code. A thread that never did so counts as the plugin's if the
/// plugin's code is on its stack.
void enter_plugin();
/// This thread has left a plugin's code, so that a crash of this thread counts as ours again.
void leave_plugin();

/// While alive, converts an abort, crash or exit of a plugin to one line and an exit code.
/// Without the guard the plugin would print pages. The line is
///   `<where>: expected it to <purpose>, got the end of the process: <its reason>`
/// The exit code is kUser for a flag that the plugin does not know (XLA_FLAGS), else kDevice.
/// While a guard is alive, everything that the process writes to stderr is held back; if that is
/// not possible, stderr is left alone. One thread may nest guards; a guard in another thread waits
/// for them.
class PluginEndGuard final : public PluginWatch::Guard {
 public:
  explicit PluginEndGuard(const std::string& where, std::string_view purpose = "start");
  /// Writes the held text that was not taken to stderr.
  ~PluginEndGuard() override;
  PluginEndGuard(const PluginEndGuard&) = delete;
  PluginEndGuard& operator=(const PluginEndGuard&) = delete;
  std::string take_text() override;

 private:
  friend struct PluginEnd;
  // Arrays and descriptors, because a signal handler reads these fields and must not allocate.
  char where_[512], purpose_[32];
  int held_ = -1;              // descriptor of the file that holds what is written to stderr
  int before_ = -1;            // descriptor of the original stderr
  off_t taken_ = 0;            // bytes of held_ that take_text has returned
  stack_t stack_before_ = {};  // this thread's earlier alternate stack for signal handlers
  PluginEndGuard* const outer_;
  const pid_t thread_;
};

/// How a process ends.
///   kOnPurpose  by abort or exit, after the reason was printed
///   kFault      by a fault or an exception, without printing a reason
enum class EndKind { kOnPurpose, kFault };

/// Returns the reason for the end in what a plugin has printed. This is the text of the first error
/// line, without its time and source location. If there is no error line and `kind` is kOnPurpose,
/// it is the last line that is no warning. Empty: the plugin printed no reason.
std::string_view end_reason(std::string_view printed, EndKind kind = EndKind::kOnPurpose);

}  // namespace axle
