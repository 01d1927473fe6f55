// Plugins that end the process in place of returning an error.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace axle {

/// While alive, a plugin that aborts or exits ends the process with one line of ours and an exit
/// code, where it would print pages: `<where>: expected it to <purpose>, got its end: <its
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
  int held_ = -1;    // what is written meanwhile
  int before_ = -1;  // stderr as it was
  off_t taken_ = 0;  // bytes of held_
  PluginEndGuard* const outer_;
};

/// The reason in what a plugin has printed: the text of its first line of an error, behind the time
/// and the place in its sources.
std::string_view reason_in(std::string_view printed);

}  // namespace axle
