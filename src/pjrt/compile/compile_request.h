// A request to a plugin's compiler. It is the same for devices of this process and for devices
// that are only described.
#pragma once

#include <string>

#include "lower/trace_program.h"
#include "pjrt/abi/executable.h"
#include "pjrt/compile/compiler_settings.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_watch.h"
#include "runtime/runtime.h"

namespace axle {

class PjrtCompileRequest {
 public:
  /// Compiles for the devices of `topology`, placed in the program's mesh by device_order. Throws
  /// what device_order and check_user_settings throw.
  PjrtCompileRequest(const Plugin& plugin, const Topology& topology, DevicePresence presence,
                     const Program& program, const CompileOptions& options);
  PjrtCompileRequest(const PjrtCompileRequest&) = delete;
  PjrtCompileRequest& operator=(const PjrtCompileRequest&) = delete;

  /// The encoded compile options, which are part of the key of the executable cache.
  const std::string& encoded() const { return encoded_; }
  /// Fills in `call`, which is ClientCompile or Compile, and makes it. If the compiler refuses the
  /// program, it throws:
  ///   ConfigError      the compiler's message names an option that the user has set
  ///   DoesNotFitError  the program needs more memory than the device has
  ///   DeviceError      otherwise, with exit code kDoesNotCompile
  /// A compiler that aborts the process does so within a PluginTask.
  template <class Call>
  void make(Call& call) const {
    call.program = &source_.value;
    call.compile_options = {encoded_.data(), encoded_.size()};
    const PluginTask task(where() + of_plugin(), "be compiled");
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
