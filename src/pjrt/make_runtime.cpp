#include "pjrt/make_runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "runtime/interpreter_runtime.h"
#include "runtime/mesh_devices.h"

namespace axle {
namespace {

bool is_known(const std::string& backend) {
  const auto& rows = plugin_policies();
  return std::ranges::any_of(rows, [&](const auto& row) { return row.platform == backend; }) ||
         !named_plugin_file(backend).empty();
}

}  // namespace

std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options) {
  check_device_count("num_devices", options.num_devices);
  if (options.backend == "interpreter")
    return std::make_unique<InterpreterRuntime>(options.num_devices);
  if (!is_known(options.backend)) {
    std::vector<std::string> names = {"interpreter"};
    for (const auto& row : plugin_policies()) names.push_back(row.platform);
    throw ConfigError(
        fmt::format("backend: expected one of {}, got '{}'{}; for any other PJRT plugin set {}",
                    fmt::join(names, ", "), options.backend, suggest(options.backend, names),
                    plugin_variable(options.backend)));
  }
  return std::make_unique<PjrtRuntime>(load_plugin(options.backend), options.num_devices,
                                       options.compile_cache);
}

}  // namespace axle
