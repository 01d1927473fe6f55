#include "pjrt/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "base/text/text.h"
#include "pjrt/client.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/executable.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/plugin_watch.h"
#include "runtime/mesh_devices.h"
#include "targets/target.h"

namespace axle {
namespace {

class DescribedProgram final : public CompiledProgram {
 public:
  DescribedProgram(std::shared_ptr<const TopologyDescription> description, PjrtCompiled compiled)
      : description_(std::move(description)), compiled_(std::move(compiled)) {}

  std::string serialize() const override { return compiled_.serialize(); }
  std::optional<MemoryStats> memory() const override { return compiled_.memory(); }
  std::string optimized_program() const override { return compiled_.optimized_program(); }
  std::map<std::string, double> cost_analysis() const override { return compiled_.cost_analysis(); }

 private:
  std::shared_ptr<const TopologyDescription> description_;
  PjrtCompiled compiled_;
};

/// The name and options that a topology is created with. It cannot be copied, because `options`
/// point into its strings.
struct TopologyRequest {
  explicit TopologyRequest(const Target& target);
  TopologyRequest(const TopologyRequest&) = delete;

  std::string name;
  std::map<std::string, std::string> texts;
  std::vector<pjrt::NamedValue> options;
};

pjrt::NamedValue option(const std::string& name) {
  return {.head = {pjrt::wire_size<pjrt::NamedValue>(), nullptr},
          .name = {name.data(), name.size()},
          .value_size = 1};
}

TopologyRequest::TopologyRequest(const Target& target)
    : texts(target.accelerator.topology_options) {
  static const std::string kNumSlices = "num_slices";
  const auto& accelerator = target.accelerator;
  const std::string shape = shape_text(target.shape);
  if (accelerator.description.empty()) {
    name = fmt::format("{}:{}", accelerator.name, shape);
    if (target.num_slices > 1) {
      options.push_back(option(kNumSlices));
      options.back().int64_value = target.num_slices;
    }
  } else {
    name = accelerator.name;
    texts["target_config"] = accelerator.description;
    texts["topology"] = fmt::format("{}x{}", target.num_slices, shape);
  }
  for (const auto& [key, text] : texts) {
    options.push_back(option(key));
    options.back().kind = pjrt::NamedValue::Kind::kString;
    options.back().string_value = text.data();
    options.back().value_size = text.size();
  }
}

}  // namespace

TopologyCompiler::TopologyCompiler(const Target& target, const Plugin& plugin)
    : Compiler(target),
      plugin_(plugin),
      where_(fmt::format("target {}, plugin '{}' ({})", to_text(target), plugin.policy().platform,
                         plugin.path().string())) {
  if (!plugin.has<pjrt::TopologyCreate>() || !plugin.has<pjrt::TopologyGetDeviceDescriptions>() ||
      !plugin.has<pjrt::Compile>()) {
    throw DeviceError(
        fmt::format("{}: expected calls that compile without devices, got PJRT API {} without "
                    "them{}",
                    where_, plugin.api_version(), plugin.advice()));
  }
  description_ = std::make_shared<const TopologyDescription>(describe());
  read_topology();
}

TopologyDescription TopologyCompiler::describe() const {
  const TopologyRequest request(target());
  pjrt::TopologyCreate create{.name = {request.name.data(), request.name.size()},
                              .options = request.options.data(),
                              .num_options = request.options.size()};
  {
    const PluginTask task(where_);
    plugin_.first_call(create, where_);
  }
  if (!create.topology) throw DeviceError(fmt::format("{}: expected a topology, got none", where_));
  return {plugin_, create.topology};
}

void TopologyCompiler::read_topology() {
  topology_.platform = plugin_.policy().platform;
  topology_.fast_network = plugin_.policy().fast_network;
  pjrt::TopologyPlatformName name{.topology = description_->get()};
  // Older plugins do not report a platform name; for them the check of the device count must do.
  if (!plugin_.try_call(name) && to_view(name.name) != topology_.platform) {
    throw DeviceError(fmt::format("{}: expected a plugin of platform '{}', got one of '{}'{}",
                                  where_, topology_.platform, to_view(name.name),
                                  plugin_.advice()));
  }
  pjrt::TopologyPlatformVersion version{.topology = description_->get()};
  if (!plugin_.try_call(version)) topology_.platform_version = to_view(version.version);
  pjrt::TopologyGetDeviceDescriptions list{.topology = description_->get()};
  plugin_.call(list, where_);
  for (auto* description : std::span(list.descriptions, list.num_descriptions))
    topology_.devices.push_back(read_device(plugin_, description, where_));
  for (DeviceInfo& device : topology_.devices) {
    if (device.memory_bytes)
      device.memory_bytes = bytes_for_programs(plugin_.policy(), *device.memory_bytes);
  }
  std::ranges::sort(topology_.devices, {}, &DeviceInfo::id);
  if (std::ssize(topology_.devices) != target().num_devices()) {
    throw DeviceError(fmt::format("{}: expected {} devices, got a topology of {}", where_,
                                  target().num_devices(), topology_.devices.size()));
  }
}

LoweringTarget TopologyCompiler::lowering_target() const {
  return axle::lowering_target(plugin_, topology_,
                               [this](const Program& program) { compile_lowered(program, {}); });
}

std::unique_ptr<CompiledProgram> TopologyCompiler::compile(const Program& program,
                                                           const CompileOptions& options) {
  return compile_for(
      program, [this] { return lowering_target(); },
      [&](const Program& lowered) { return compile_lowered(lowered, options); });
}

std::unique_ptr<CompiledProgram> TopologyCompiler::compile_lowered(
    const Program& program, const CompileOptions& options) const {
  const PjrtCompileRequest request(plugin_, topology_, DevicePresence::kDescribed, program,
                                   options);
  pjrt::Compile args{.topology = description_->get()};
  request.make(args);
  return std::make_unique<DescribedProgram>(description_,
                                            PjrtCompiled(plugin_, args.executable, program));
}

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

namespace {

// Starts of messages that XLA writes for every program of ours.
constexpr std::array<std::string_view, 2> kSaysNothing = {
    "Module contains sdy shardings",  // this plugin reads no other form of shardings yet
    "All log messages before absl::InitializeLog()"};

// "W1121 23:12:12.335242    2503 file.cc:3402] message".
std::string_view message_of(std::string_view line) {
  const bool is_warning =
      line.size() > 5 && (line[0] == 'W' || line[0] == 'E') &&
      std::ranges::all_of(line.substr(1, 4), [](unsigned char c) { return std::isdigit(c) != 0; });
  const size_t bracket = line.find("] ");
  return is_warning && bracket != line.npos ? line.substr(bracket + 2) : std::string_view{};
}

}  // namespace

void enable_plugin_warnings() { ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0); }

std::vector<std::string> compiler_warnings(std::string_view log) {
  std::vector<std::string> out;
  for (const std::string_view line : split(log, '\n')) {
    const std::string_view message = trim(message_of(line));
    const bool says_nothing = std::ranges::any_of(
        kSaysNothing, [&](std::string_view start) { return message.starts_with(start); });
    if (message.empty() || says_nothing) continue;
    if (std::ranges::find(out, message) == out.end()) out.emplace_back(message);
  }
  return out;
}

}  // namespace axle
