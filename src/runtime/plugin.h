// PJRT plugins: finding, loading and calling them. A plugin is loaded once per process and never
// closed, because libraries loaded into it keep handlers there.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "runtime/pjrt_abi.h"
#include "runtime/plugin_policy.h"

namespace axle {

/// An error that a plugin returned.
struct PluginFailure {
  pjrt::ErrorCode code = pjrt::ErrorCode::kUnknown;
  std::string message;
};

/// "INVALID_ARGUMENT", ...
std::string name_of(pjrt::ErrorCode code);
/// Throws DeviceError `<where>: <CODE>: <message>`; its exit code is kDoesNotFit where a
/// device's memory ran out (PJRT says RESOURCE_EXHAUSTED of other things as well), else
/// `exit_code`.
[[noreturn]] void throw_failure(std::string_view where, const PluginFailure& failure,
                                ExitCode exit_code = ExitCode::kDevice);

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

/// Owns one object of a plugin; `Destroy` is the struct of the call that ends it.
template <class Object, class Destroy>
class PluginObject {
 public:
  PluginObject() = default;
  PluginObject(const Plugin& plugin, Object* object) : plugin_(&plugin), object_(object) {}
  PluginObject(PluginObject&& other) noexcept
      : plugin_(other.plugin_), object_(std::exchange(other.object_, nullptr)) {}
  PluginObject& operator=(PluginObject&& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~PluginObject() {
    if (!object_) return;
    Destroy args{{}, object_};
    plugin_->try_call(args);  // nothing can be done about an object that refuses to go
  }
  Object* get() const { return object_; }
  Object* release() { return std::exchange(object_, nullptr); }

 private:
  const Plugin* plugin_ = nullptr;
  Object* object_ = nullptr;
};

/// The plugin of a platform, loaded at the first call. Throws DeviceError that says how to get a
/// missing one.
const Plugin& load_plugin(std::string_view platform);
/// Loads the file named, whatever the platform's usual one is. Throws DeviceError.
const Plugin& load_plugin(std::string_view platform, const std::filesystem::path& file);

/// The folders in which plugins are looked for: `.axle/plugins` under the current directory and
/// under the folder of the program and its parents, `axle/plugins` beside the installed library,
/// `.axle/plugins` in the home directory; not all of them exist.
std::vector<std::filesystem::path> plugin_folders();
/// The file that AXLE_PLUGIN_<NAME> names, as a full path, there or not; empty: it names none.
std::filesystem::path named_plugin(std::string_view platform);
/// "; AXLE_PLUGIN_CUDA must name a plugin for cuda" for the end of a message, if that variable has
/// named this file; else "".
std::string advice_for(std::string_view platform, const std::filesystem::path& file);
/// Where the platform's plugin lies: named_plugin(), else somewhere below plugin_folders().
/// Throws DeviceError if the variable names no file.
std::optional<std::filesystem::path> find_plugin(const PluginPolicy& policy);
/// The folder with bin/ptxas and nvvm/libdevice that the CUDA compiler needs (its option
/// xla_gpu_cuda_data_dir): the one in XLA_FLAGS, beside a plugin in `plugin_folder` or in
/// AXLE_PLUGIN_CUDA, in plugin_folders(), in CUDA_HOME or CUDA_PATH, or the system's.
std::optional<std::filesystem::path> find_cuda_toolkit(
    const std::filesystem::path& plugin_folder = {});

/// One row of `axle doctor`.
struct PluginStatus {
  std::string platform;
  std::string path;         // found, or named by its variable; empty: neither
  std::string api_version;  // empty: not loaded
  std::map<std::string, std::string> attributes;
  std::vector<std::string> extensions;
  std::string problem;  // why it can't be used, and what to do; empty: all is well
};
/// Looks for, loads and questions the plugin of every platform with a policy. Without a device one
/// that compiles ahead must describe a target of its platform. Opens no device.
std::vector<PluginStatus> find_plugins();

}  // namespace axle
