// A compiler that needs no device: the plugin compiles for a topology description of the target.
#pragma once

#include <memory>

#include "pjrt/abi/topology.h"
#include "pjrt/compile/compiler.h"
#include "pjrt/plugin/plugin_object.h"

namespace axle {

using TopologyDescription = PluginObject<pjrt::Topology, pjrt::TopologyDestroy>;

class TopologyCompiler final : public Compiler {
 public:
  TopologyCompiler(const Target& target, const Plugin& plugin);

  const Plugin& plugin() const override { return plugin_; }
  const Topology& topology() const override { return topology_; }
  LoweringTarget lowering_target() const override;
  std::unique_ptr<CompiledProgram> compile(const Program& program,
                                           const CompileOptions& options) override;

 private:
  std::unique_ptr<CompiledProgram> compile_lowered(const Program& program,
                                                   const CompileOptions& options) const;
  TopologyDescription describe() const;
  void read_topology();

  const Plugin& plugin_;
  std::string where_;  // begins every error message
  // Shared with the compiled programs, which may point into it.
  std::shared_ptr<const TopologyDescription> description_;
  Topology topology_;
};

}  // namespace axle
