// PJRT plugins: loading and calling them. A plugin is loaded once per process and never closed,
// because libraries loaded into it keep handlers there.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/abi.h"
#include "pjrt/plugin/plugin_failure.h"
#include "pjrt/plugin/plugin_policy.h"

namespace axle {

/// A loaded plugin. Thread safe.
class Plugin {
 public:
  /// Checks version and sizes, initialises the plugin. Throws DeviceError.
  Plugin(const pjrt::Api* api, PluginPolicy policy, std::filesystem::path path);

  const PluginPolicy& policy() const { return policy_; }
  const std::filesystem::path& path() const { return path_; }
  const pjrt::Api& api() const { return *api_; }
  /// "0.115".
  std::string api_version() const;
  /// "xla_version", "stablehlo_current_version", ... and their values as text; empty where the
  /// plugin tells nothing.
  std::map<std::string, std::string> attributes() const;
  /// "FFI", "Layouts", ...
  std::vector<std::string> extensions() const;

  /// Whether the plugin's table holds the call.
  template <class Args>
  bool has() const {
    return has_slot(Args::kSlot);
  }
  /// Calls the plugin; results are in `args` afterwards. A missing call fails with kUnimplemented.
  template <class Args>
  std::optional<PluginFailure> try_call(Args& args) const;
  /// As try_call, but throws DeviceError, which begins with `where`.
  template <class Args>
  void call(Args& args, std::string_view where) const {
    if (const auto failure = try_call(args)) throw_failure(where, *failure);
  }
  /// As call, for what creates a client or a target: fails with advice() where the plugin is one
  /// of another platform.
  template <class Args>
  void first_call(Args& args, std::string_view where) const {
    if (auto failure = try_call(args)) throw_failure(where, with_advice(std::move(*failure)));
  }
  /// advice_for of this plugin.
  std::string advice() const;
  /// Takes the error over; nullptr gives nothing.
  std::optional<PluginFailure> take(pjrt::Error* error) const;
  /// Waits for the event, destroys it and returns its error.
  std::optional<PluginFailure> await(pjrt::Event* event) const;

  /// A struct with zeroed room behind it, for fields that a later version of the plugin may read or
  /// write.
  template <class T>
  struct Padded {
    T value{};
    std::byte later[64] = {};
  };
  /// `value` as this plugin wants to see it when another struct points to it.
  template <class T>
  Padded<T> padded(T value) const {
    Padded<T> out{value};
    out.value.head.struct_size = struct_size<T>();
    return out;
  }

 private:
  template <class T>
  size_t struct_size() const {
    return policy_.struct_sizes == StructSizes::kExact ? pjrt::wire_size<T>() : sizeof(Padded<T>);
  }
  PluginFailure with_advice(PluginFailure failure) const;
  bool has_slot(int slot) const;
  std::optional<PluginFailure> invoke(int slot, void* args) const;

  const pjrt::Api* api_;
  PluginPolicy policy_;
  std::filesystem::path path_;
};

template <class Args>
std::optional<PluginFailure> Plugin::try_call(Args& args) const {
  auto in_out = padded(args);
  auto failure = invoke(Args::kSlot, &in_out);
  args = in_out.value;
  return failure;
}

/// The plugin of a platform, loaded at the first call. Throws DeviceError that says how to get a
/// missing one.
const Plugin& load_plugin(std::string_view platform);
/// Loads the file named, whatever the platform's usual one is. Throws DeviceError.
const Plugin& load_plugin(std::string_view platform, const std::filesystem::path& file);

}  // namespace axle
