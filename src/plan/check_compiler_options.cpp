#include "plan/check_compiler_options.h"

#include "base/error.h"
#include "lower/trace_program.h"
#include "ops/ops.h"
#include "pjrt/compile/compiler.h"
#include "pjrt/compile/compiler_settings.h"
#include "pjrt/plugin/find_plugin.h"
#include "runtime/mesh_devices.h"

namespace axle {

std::vector<std::string> compiler_option_problems(const std::map<std::string, std::string>& options,
                                                  const Target& target) {
  std::vector<std::string> out;
  const PluginPolicy policy = plugin_policy(target.accelerator.platform);
  if (policy.device_count_option.empty()) return out;
  const ProgramValue number{.name = "x", .type = {DType::kF32, {}}, .sharding = {}};
  const Program sum =
      trace_program("sum", [](const Values& x) { return Values{x[0] + x[0]}; }, {number}, {number});
  try {
    check_device_count(to_text(target), target.num_devices());
    check_user_settings(options.size());
    if (options.empty() || !find_plugin_file(policy)) return out;
    const auto compiler = make_compiler(target);
    // One option at a time, because a compiler reports only the first that it refuses.
    for (const auto& option : options) {
      try {
        compiler->compile(sum, {.overrides = {option}});
      } catch (const ConfigError& error) {
        out.emplace_back(error.what());
      }
    }
  } catch (const ConfigError& error) {
    out.emplace_back(error.what());
  } catch (const DeviceError&) {
    // An unusable plugin is not an error in the config.
  }
  return out;
}

}  // namespace axle
