// Tests that need the PJRT plugin of a platform.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "pjrt/plugin/find_plugin.h"

namespace axle {

/// Returns why a test is skipped without the plugin. The scripts in tools/ print the same line for
/// the CPU plugin, so that a test report has one line for it.
inline std::string no_plugin(std::string_view platform) {
  return "no " + std::string(platform) + " plugin: " + plugin_policy(platform).install_hint;
}

}  // namespace axle

/// Skips the test if the platform's plugin is not installed.
#define AXLE_NEEDS_PLUGIN(platform)                           \
  if (!axle::find_plugin_file(axle::plugin_policy(platform))) \
  GTEST_SKIP() << axle::no_plugin(platform)
