#include "pjrt/compile/compiler.h"

#include <fmt/format.h>

#include "base/error.h"
#include "pjrt/compile/topology_compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "runtime/mesh_devices.h"

namespace axle {
namespace {

class VirtualDevicesCompiler final : public Compiler {
 public:
  VirtualDevicesCompiler(const Target& target, const Plugin& plugin)
      : Compiler(target), plugin_(plugin), runtime_(plugin, target.num_devices()) {}

  const Plugin& plugin() const override { return plugin_; }
  const Topology& topology() const override { return runtime_.topology(); }
  LoweringTarget lowering_target() const override { return runtime_.lowering_target(); }
  std::unique_ptr<CompiledProgram> compile(const Program& program,
                                           const CompileOptions& options) override {
    return runtime_.compile(program, options);
  }

 private:
  const Plugin& plugin_;
  PjrtRuntime runtime_;
};

}  // namespace

std::unique_ptr<Compiler> make_compiler(const Target& target, const Plugin& plugin) {
  const auto& platform = target.accelerator.platform;
  if (plugin.policy().platform != platform) {
    throw DeviceError(fmt::format("target {}: expected a plugin of platform '{}', got one of '{}'",
                                  to_text(target), platform, plugin.policy().platform));
  }
  if (!plugin.policy().device_count_option.empty()) {
    check_device_count(to_text(target), target.num_devices());
    return std::make_unique<VirtualDevicesCompiler>(target, plugin);
  }
  return std::make_unique<TopologyCompiler>(target, plugin);
}

std::unique_ptr<Compiler> make_compiler(const Target& target) {
  return make_compiler(target, load_plugin(target.accelerator.platform));
}

}  // namespace axle
