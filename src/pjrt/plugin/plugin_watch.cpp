#include "pjrt/plugin/plugin_watch.h"

#include <atomic>

namespace axle {
namespace {

std::atomic<PluginWatch*> g_watch = nullptr;

}  // namespace

void set_plugin_watch(PluginWatch* watch) { g_watch = watch; }
PluginWatch* plugin_watch() { return g_watch; }

PluginTask::PluginTask(const std::string& where, std::string_view purpose) {
  if (PluginWatch* const watch = plugin_watch()) guard_ = watch->guard(where, purpose);
}

}  // namespace axle
