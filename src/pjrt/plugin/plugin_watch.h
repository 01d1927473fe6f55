// What a program does about plugins that end the process. The library tells the program's
// PluginWatch when plugins are loaded and called. Signals, exits and standard error belong to the
// program, so that without a PluginWatch the library leaves them alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace axle {

/// Watches plugins for a program. Several threads may call its functions at once.
class PluginWatch {
 public:
  /// A task of a plugin, from construction to destruction.
  class Guard {
   public:
    virtual ~Guard() = default;
    /// Returns what was written to standard error since the task began or since the last call, if
    /// the guard holds that back. The guard no longer writes this text itself.
    virtual std::string take_text() = 0;
  };

  virtual ~PluginWatch() = default;
  /// A plugin was loaded for the rest of the process. `where` names it at the start of a message;
  /// `code` is the address of any of its functions.
  virtual void loaded(const std::string& where, const void* code) = 0;
  /// This thread calls the plugin's code, or has left it.
  virtual void enter() = 0;
  virtual void leave() = 0;
  /// Begins a task in which plugins may end the process: "<where>: expected it to <purpose>".
  virtual std::unique_ptr<Guard> guard(const std::string& where, std::string_view purpose) = 0;
};

/// Has plugins watched by `watch` from now on; nullptr: by none, as at the start. Plugins that were
/// loaded before are not told to it. It must outlive the calls and tasks that begin meanwhile.
void set_plugin_watch(PluginWatch* watch);
/// Returns the program's watch; nullptr: none.
PluginWatch* plugin_watch();

/// Marks, while alive, that this thread runs a plugin's code.
class PluginCall {
 public:
  PluginCall() : watch_(plugin_watch()) {
    if (watch_) watch_->enter();
  }
  ~PluginCall() {
    if (watch_) watch_->leave();
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

 private:
  PluginWatch* const watch_;
};

/// The guard of the program's watch, while alive; none without a watch.
class PluginTask {
 public:
  explicit PluginTask(const std::string& where, std::string_view purpose = "start");
  PluginTask(const PluginTask&) = delete;
  PluginTask& operator=(const PluginTask&) = delete;
  /// Returns what the guard's take_text() returns; empty without a guard.
  std::string take_text() { return guard_ ? guard_->take_text() : std::string(); }

 private:
  std::unique_ptr<PluginWatch::Guard> guard_;
};

}  // namespace axle
