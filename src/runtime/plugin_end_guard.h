// Plugins that end the process in place of returning an error.
#pragma once

#include <string>

namespace axle {

/// While alive, a plugin that aborts or exits ends the process with one line of ours and an exit
/// code, where it would print pages: `<where>: expected it to start, got its end: <its reason>`;
/// kUser for a flag that it does not know (XLA_FLAGS), else kDevice. What is written to stderr
/// meanwhile is held back until the guard goes. For short calls: one guard at a time.
class PluginEndGuard {
 public:
  explicit PluginEndGuard(const std::string& where);
  ~PluginEndGuard();
  PluginEndGuard(const PluginEndGuard&) = delete;
  PluginEndGuard& operator=(const PluginEndGuard&) = delete;
};

/// The reason in what a plugin has printed: the text of its first line of an error, behind the time
/// and the place in its sources.
std::string_view reason_in(std::string_view printed);

}  // namespace axle
