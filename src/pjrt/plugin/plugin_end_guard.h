// Plugins that end the process in place of returning an error.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <string_view>

namespace axle {

/// From now on an end that the code of a plugin brings about, in whatever thread and without a
/// guard too, is one line of ours and exit code kDevice, where it would be a bare signal or C++'s
/// words on an exception that nobody caught: `<where>: expected it to run programs, got its end:
/// ...`. What it has printed by then stands above. `code` is the address of one of its functions.
/// Signals that others send, and those of our own code, do what they always did.
void watch_plugin_end(const std::string& where, const void* code);

/// While alive, this thread runs a plugin's code. A thread that has left it has its own ends again;
/// one that never was there is a plugin's own if its code has started it.
class PluginCall {
 public:
  PluginCall();
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;
};

/// While alive, a plugin that aborts, crashes or exits ends the process with one line of ours and
/// an exit code, where it would print pages: `<where>: expected it to <purpose>, got its end: <its
/// reason>`; kUser for a flag that it does not know (XLA_FLAGS), else kDevice. What the whole
/// process writes to stderr meanwhile is held back. Guards may be nested in one thread; another
/// thread's waits. Where stderr cannot be held, it stays as it is.
class PluginEndGuard {
 public:
  explicit PluginEndGuard(const std::string& where, std::string_view purpose = "start");
  /// Writes what was held and not taken.
  ~PluginEndGuard();
  PluginEndGuard(const PluginEndGuard&) = delete;
  PluginEndGuard& operator=(const PluginEndGuard&) = delete;
  /// Takes what was written until now.
  std::string take_text();

 private:
  friend struct PluginEnd;
  // Fixed memory and descriptors: a signal handler reads them.
  char where_[512], purpose_[32];
  int held_ = -1;              // what is written meanwhile
  int before_ = -1;            // stderr as it was
  off_t taken_ = 0;            // bytes of held_
  stack_t stack_before_ = {};  // of this thread's signal handlers
  PluginEndGuard* const outer_;
  const pid_t thread_;
};

/// How a process ends: on purpose, after its reason was printed (abort, exit), or by a fault or an
/// exception, of which nothing is printed.
enum class EndKind { kOnPurpose, kFault };

/// The reason in what a plugin has printed: the text of its first line of an error, behind the time
/// and the place in its sources; else its last line that is no warning, if it ends on purpose.
/// Empty: it told none.
std::string_view reason_in(std::string_view printed, EndKind kind = EndKind::kOnPurpose);

}  // namespace axle
