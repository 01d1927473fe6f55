#include "pjrt/compile/target_lowering.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.h"
#include "lower/trace_program.h"
#include "ops/collectives/ragged_all_to_all.h"
#include "ops/create.h"
#include "pjrt/kernels/host_kernels.h"
#include "transform/shard_map/shard_map.h"

namespace axle {
namespace {

// Each device sends one row to each other device.
Program ragged_all_to_all_probe(int64_t num_devices) {
  const Mesh mesh{{{"all", num_devices}}};
  const auto fn = [&](const Values& x) {
    const Tensor offsets = iota({num_devices}, 0);
    const RaggedSlices slices{offsets, full_like(offsets, 1), offsets, full_like(offsets, 1)};
    return shard_map(
        [&](const Values& part) {
          return Values{ragged_all_to_all(part[0], zeros_like(part[0]), slices, {"all"})};
        },
        x, {.mesh = mesh, .in_specs = {{{"all"}}}, .out_specs = {{{"all"}}}});
  };
  const ProgramValue x{"x", {DType::kF32, {num_devices * num_devices, 8}}, {{"all"}}};
  return trace_program("ragged_all_to_all_probe", fn, {x}, {{"y", x.type, x.sharding}}, mesh);
}

// Returns why the compiler lacks the op, none if it has it.
std::optional<std::string> probe(const std::string& op, const std::string& platform,
                                 int64_t num_devices, const TryCompile& compile) {
  AXLE_CHECK(op == "ragged_all_to_all", "an op with a probe");
  LoweringTarget target{.platform = platform};
  target.lacks = [](const std::string&) { return std::optional<std::string>(); };
  try {
    compile(lowered_for(ragged_all_to_all_probe(num_devices), target));
    return std::nullopt;
  } catch (const Error& error) {
    const std::string message = error.what();
    return fmt::format("the compiler refuses it: {}", message.substr(0, message.find('\n')));
  }
}

}  // namespace

LoweringTarget lowering_target(const Plugin& plugin, const Topology& topology, TryCompile compile) {
  LoweringTarget out{.platform = plugin.policy().platform,
                     .no_host_kernels = enable_host_kernels(plugin)};
  const auto num_devices = std::ssize(topology.devices);
  std::string name = fmt::format("{}\n{}\n{}\n{}", plugin.path().string(), topology.platform,
                                 topology.platform_version, num_devices);
  if (num_devices > 0) name += "\n" + topology.devices[0].kind;
  out.lacks = [=, platform = out.platform](const std::string& op) {
    static std::mutex mutex;
    static std::map<std::string, std::optional<std::string>> answers;
    const std::lock_guard lock(mutex);
    const std::string key = op + "\n" + name;
    const auto known = answers.find(key);
    if (known != answers.end()) return known->second;
    return answers.emplace(key, probe(op, platform, num_devices, compile)).first->second;
  };
  return out;
}

void report_fallbacks(const Program& program) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  for (LoweringChoice choice : program.choices) {
    if (choice.reason.empty()) continue;
    const std::string layer = std::exchange(choice.layer, "");
    if (!told.insert(to_text(choice)).second) continue;
    choice.layer = layer;
    report_to_stderr(fmt::format("WARNING: program '{}': {}", program.name, to_text(choice)));
  }
}

}  // namespace axle
