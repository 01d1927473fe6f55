#include "pjrt/compile/compile_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "pjrt/compile/build_options.h"
#include "pjrt/plugin/plugin.h"
#include "targets/device_order.h"

namespace axle {
namespace {

// Returns the bytes of a device that programs may use, for the compiler to schedule within. 0 for
// platforms whose compilers know their memory by themselves.
int64_t memory_to_plan_with(const Plugin& plugin, const Topology& topology) {
  if (plugin.policy().memory.fraction == 0 || topology.devices.empty()) return 0;
  return topology.devices[0].memory_bytes.value_or(0);
}

std::string encode(const Plugin& plugin, const Topology& topology, const Mesh& mesh,
                   const Settings& defaults, const Settings& users) {
  check_user_settings(users.size());
  Settings all = defaults;
  all.insert(all.end(), users.begin(), users.end());  // the last value of a name wins
  return encode_build_options({.num_partitions = mesh.num_devices(),
                               .device_ids = device_ids(topology, mesh),
                               .device_memory_bytes = memory_to_plan_with(plugin, topology),
                               .overrides = std::move(all)});
}

// Returns the setting that the message names. The longest name counts: it may contain others.
const Setting* named_in(const std::string& message, const Settings& settings) {
  const Setting* out = nullptr;
  for (const Setting& setting : settings) {
    const std::string& name = setting.first;
    if (message.find(name) != std::string::npos && (!out || name.size() > out->first.size()))
      out = &setting;
  }
  return out;
}

}  // namespace

PjrtCompileRequest::PjrtCompileRequest(const Plugin& plugin, const Topology& topology,
                                       DevicePresence presence, const Program& program,
                                       const CompileOptions& options)
    : plugin_(plugin),
      name_(program.name),
      text_(program.text),
      users_(options.overrides),
      defaults_(settings_for(topology, presence)),
      encoded_(encode(plugin, topology, program.mesh, defaults_, users_)),
      source_(plugin.padded(
          pjrt::Program{.code = text_.data(), .code_size = text_.size(), .format = {"mlir", 4}})) {}

std::string PjrtCompileRequest::where() const { return fmt::format("program '{}'", name_); }
std::string PjrtCompileRequest::of_plugin() const {
  return fmt::format(", plugin '{}'", plugin_.policy().platform);
}

void PjrtCompileRequest::fail(const PluginFailure& failure) const {
  if (failure.code == pjrt::ErrorCode::kInvalidArgument) {
    const auto refused = [&](const Setting& setting) {
      return fmt::format("compiler option {}={}: expected one that plugin '{}' takes, got: {}",
                         setting.first, setting.second, plugin_.policy().platform, failure.message);
    };
    if (const auto* users = named_in(failure.message, users_)) throw ConfigError(refused(*users));
    if (const auto* ours = named_in(failure.message, defaults_))
      throw DeviceError(refused(*ours) + "; it is a default for another version of the plugin");
  }
  if (failure.code != pjrt::ErrorCode::kResourceExhausted)
    throw_failure(where(), failure, ExitCode::kDoesNotCompile);
  // The first line of the message is followed by pages about buffers.
  const size_t end = std::min(failure.message.find('\n'), failure.message.size());
  try {
    throw_failure(where(), {failure.code, failure.message.substr(0, end)},
                  ExitCode::kDoesNotCompile);
  } catch (const DeviceError& error) {
    if (error.code() != ExitCode::kDoesNotFit) throw;
    throw DoesNotFitError(error.what(), failure.message.substr(end));
  }
}

}  // namespace axle
