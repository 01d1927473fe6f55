// A request to a plugin's compiler: what is the same whether it compiles for devices of this
// process or for others.
#pragma once

#include <string>

#include "lower/program.h"
#include "pjrt/abi_executable.h"
#include "pjrt/compile/compiler_settings.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_end_guard.h"
#include "runtime/runtime.h"

namespace axle {

class PjrtCompileRequest {
 public:
  /// For the devices of `topology`, in the order of the program's mesh. Throws as device_order
  /// does.
  PjrtCompileRequest(const Plugin& plugin, const Topology& topology, DevicePresence presence,
                     const Program& program, const CompileOptions& options);
  PjrtCompileRequest(const PjrtCompileRequest&) = delete;
  PjrtCompileRequest& operator=(const PjrtCompileRequest&) = delete;

  /// The encoded options: part of a cache's key.
  const std::string& encoded() const { return encoded_; }
  /// Fills `call`, one of the plugin's compile calls, and makes it. Throws what a refusal means:
  /// ConfigError if it names an option that the user has set, DoesNotFitError, else DeviceError
  /// with exit code kDoesNotCompile. A compiler that aborts is told of in one line
  /// (PluginEndGuard).
  template <class Call>
  void make(Call& call) const {
    call.program = &source_.value;
    call.compile_options = {encoded_.data(), encoded_.size()};
    const PluginEndGuard guard(where() + of_plugin(), "be compiled");
    if (const auto failure = plugin_.try_call(call)) fail(*failure);
  }

 private:
  std::string where() const;
  std::string of_plugin() const;
  [[noreturn]] void fail(const PluginFailure& failure) const;

  const Plugin& plugin_;
  std::string name_;
  std::string text_;
  Settings users_, defaults_;
  std::string encoded_;
  Plugin::Padded<pjrt::Program> source_;
};

}  // namespace axle
