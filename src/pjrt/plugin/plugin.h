// Loading and calling PJRT plugins, the failures that their calls return, and their objects. A
// plugin is loaded once per process and never unloaded, because its libraries register handlers in
// the process that would dangle.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "pjrt/abi/plugin.h"
#include "pjrt/plugin/plugin_policy.h"

namespace axle {

/// An error that a plugin returned.
struct PluginFailure {
  pjrt::ErrorCode code = pjrt::ErrorCode::kUnknown;
  std::string message;
};

/// Returns the name of a code: "INVALID_ARGUMENT", ...
std::string name_of(pjrt::ErrorCode code);
/// Throws DeviceError with the message `<where>: <CODE>: <message>`. The exit code is kDoesNotFit
/// if a device's memory ran out, else `exit_code`. RESOURCE_EXHAUSTED alone does not decide this:
/// PJRT uses that code for other resources as well.
[[noreturn]] void throw_failure(std::string_view where, const PluginFailure& failure,
                                ExitCode exit_code = ExitCode::kDevice);

/// The compiler refused a program that needs more memory than the device has.
struct DoesNotFitError : DeviceError {
  DoesNotFitError(const std::string& message, std::string compilers_details)
      : DeviceError(message, ExitCode::kDoesNotFit), details(std::move(compilers_details)) {}
  /// The compiler's message after its first line: pages about the largest buffers. May be empty.
  std::string details;
};

/// A loaded plugin. Thread safe.
class Plugin {
 public:
  /// Checks the plugin's version and table of calls, then initialises the plugin. Throws
  /// DeviceError.
  Plugin(const pjrt::Api* api, PluginPolicy policy, std::filesystem::path path);

  const PluginPolicy& policy() const { return policy_; }
  const std::filesystem::path& path() const { return path_; }
  const pjrt::Api& api() const { return *api_; }
  /// Returns the plugin's PJRT version, "0.115".
  std::string api_version() const;
  /// Returns the plugin's attributes ("xla_version", "stablehlo_current_version", ...) with their
  /// values as text; empty if the plugin reports none.
  std::map<std::string, std::string> attributes() const;
  /// Returns the names of the plugin's PJRT extensions: "FFI", "Layouts", ...
  std::vector<std::string> extensions() const;

  /// True if the plugin's table has the call.
  template <class Args>
  bool has() const {
    return has_slot(Args::kSlot);
  }
  /// Calls the plugin, which writes its results into `args`. Returns none on success. A call that
  /// the plugin lacks fails with kUnimplemented.
  template <class Args>
  std::optional<PluginFailure> try_call(Args& args) const;
  /// Does the same as try_call, but throws a failure as DeviceError, whose message begins with
  /// `where`.
  template <class Args>
  void call(Args& args, std::string_view where) const {
    if (const auto failure = try_call(args)) throw_failure(where, *failure);
  }
  /// Does the same as call(), and appends advice() to the message of a failure. It is for the calls
  /// that initialise the plugin or create a client or a topology. If AXLE_PLUGIN_<NAME> names a
  /// plugin of another platform, one of these calls is the first to fail.
  template <class Args>
  void first_call(Args& args, std::string_view where) const {
    if (auto failure = try_call(args)) throw_failure(where, with_advice(std::move(*failure)));
  }
  /// Returns advice_for() of this plugin.
  std::string advice() const;
  /// Reads and destroys the error; none if it is null.
  std::optional<PluginFailure> take(pjrt::Error* error) const;
  /// Waits for the event, destroys it and returns its failure; none on success or for a null event.
  std::optional<PluginFailure> await(pjrt::Event* event) const;

  /// A struct followed by zeroed bytes, for fields that a later version of the plugin may read or
  /// write.
  template <class T>
  struct Padded {
    T value{};
    std::byte later[64] = {};
  };
  /// Returns `value` with padding and its struct_size set as this plugin expects. Structs that an
  /// argument struct points to need this; try_call does it for the argument struct itself.
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

/// Returns the plugin of a platform and loads it at the first call. Throws DeviceError; if the
/// plugin is missing, the message says how to get it.
const Plugin& load_plugin(std::string_view platform);
/// Loads `file` as the platform's plugin instead of the file that find_plugin_file returns. Throws
/// DeviceError.
const Plugin& load_plugin(std::string_view platform, const std::filesystem::path& file);

/// Owns one object of a plugin. `Destroy` is the argument struct of the call that destroys it.
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
    plugin_->try_call(args);  // a failure is ignored: a destructor can't do anything about it
  }
  Object* get() const { return object_; }
  Object* release() { return std::exchange(object_, nullptr); }

 private:
  const Plugin* plugin_ = nullptr;
  Object* object_ = nullptr;
};

}  // namespace axle
