#include "pjrt/compile/compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.h"
#include "io/proto.h"
#include "lower/stablehlo.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "pjrt/kernels/host_kernels.h"
#include "pjrt/plugin/plugin.h"
#include "targets/device_order.h"
#include "transform/shard_map/shard_map.h"

namespace axle {
namespace {

namespace fields = build_option_fields;

ProtoWriter assignment(const std::vector<int64_t>& device_ids) {
  ProtoWriter out;
  out.varint(fields::kReplicaCount, 1).varint(fields::kComputationCount, device_ids.size());
  for (const int64_t id : device_ids) {
    out.message(fields::kComputationDevices, ProtoWriter().packed(fields::kReplicaDeviceIds, {id}));
  }
  return out;
}

// XLA parses numbers and enums from strings, but accepts booleans only as booleans.
ProtoWriter override_of(const std::string& name, const std::string& value) {
  ProtoWriter typed, out;
  if (value == "true" || value == "false")
    typed.varint(fields::kBool, value == "true");
  else
    typed.bytes(fields::kString, value);
  return out.bytes(fields::kKey, name).message(fields::kValue, typed);
}

}  // namespace

// Fields are written in ascending order.
std::string encode_build_options(const BuildOptions& options) {
  const bool spmd = options.num_partitions > 1;
  ProtoWriter build;
  // -1: no single device; the device assignment names the devices.
  if (!options.device_ids.empty()) build.varint(fields::kDeviceOrdinal, static_cast<uint64_t>(-1));
  build.varint(fields::kNumReplicas, 1)
      .varint(fields::kNumPartitions, static_cast<uint64_t>(options.num_partitions));
  if (spmd) build.varint(fields::kUseSpmd, 1);
  if (!options.device_ids.empty())
    build.message(fields::kDeviceAssignment, assignment(options.device_ids));
  if (options.device_memory_bytes > 0)
    build.varint(fields::kDeviceMemorySize, static_cast<uint64_t>(options.device_memory_bytes));
  if (spmd) build.varint(fields::kUseShardy, 1);
  ProtoWriter out;
  out.message(fields::kBuildOptions, build);
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : options.overrides) by_name[name] = value;
  for (const auto& [name, value] : by_name)
    out.message(fields::kOverrides, override_of(name, value));
  return out.text();
}

// Sources:
//   TPU  the options that AXLearn trains its models with (axlearn/common/compiler_options.py). Left
//        out are the options for its random generator, which differs from ours, and fused
//        asynchronous collectives on v6e, which libtpu 0.0.51 refuses there as unsafe.
//   GPU  the options of AXLearn's GPU jobs and of NVIDIA's training scripts.
//   CPU  no rows: no option was found that helps.

namespace {

using Scope = SettingScope;

// Compilers have 400 (CPU) to 2,100 (TPU) options. Each that a user sets is compiled with alone, in
// about 3 ms, before a run.
constexpr size_t kMaxUserSettings = 1000;
constexpr const char* kV6e = "TPU v6 lite";
constexpr const char* kOneGiB = "1073741824";

std::vector<CompilerSetting> tpu_rows() {
  return {
      {"tpu", "", Scope::kAlways, "xla_tpu_enable_latency_hiding_scheduler", "true",
       "computes while collectives run"},
      {"tpu", "", Scope::kAlways, "xla_tpu_perform_spmd_cse_prevention", "false",
       "equal gathers are done once: less memory"},
      {"tpu", "", Scope::kSeveralSlices, "xla_tpu_enable_megascale_barrier", "true",
       "keeps slices in step for collectives between them"},
      {"tpu", "", Scope::kSeveralSlices, "xla_tpu_enable_data_parallel_all_reduce_opt", "true",
       "sums gradients between slices while the next layer computes"},
      {"tpu", "", Scope::kSeveralSlices, "xla_tpu_data_parallel_opt_different_sized_ops", "true",
       "the same for gradients of different sizes"},
      {"tpu", "", Scope::kSeveralSlices,
       "xla_tpu_enable_sunk_dcn_allreduce_done_with_host_reduction", "true",
       "groups the collectives between slices into few stages"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_scoped_vmem_limit_kib", "98304",
       "larger tiles: its vector memory is larger than the default counts on"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_overlap_compute_collective_tc", "true",
       "the core computes while it waits for a collective"},
      {"tpu", kV6e, Scope::kAlways, "xla_enable_async_all_gather", "true",
       "all-gather may run in the background"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_enable_all_experimental_scheduler_features", "true",
       "the scheduler's newer passes"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_enable_scheduler_memory_pressure_tracking", "ENABLED",
       "the scheduler overlaps less where memory is short"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_host_transfer_overlap_limit", "24",
       "transfers of offloaded activations under way at once"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_aggressive_opt_barrier_removal", "ENABLED",
       "barriers of remat end before scheduling, so that it can overlap across them"},
      {"tpu", kV6e, Scope::kAlways, "xla_lhs_prioritize_async_depth_over_stall", "ENABLED",
       "starts collectives as early as it can"},
      {"tpu", kV6e, Scope::kAlways, "xla_tpu_enable_ag_backward_pipelining", "true",
       "gathers the next layer's weights during this one"},
      {"tpu", kV6e, Scope::kAlways, "xla_should_allow_loop_variant_parameter_in_chain", "ENABLED",
       "the same where the weights are a slice of a loop's stack"},
      {"tpu", kV6e, Scope::kAlways, "xla_should_add_loop_invariant_op_in_chain", "ENABLED",
       "the same with what does not change in the loop"},
      {"tpu", kV6e, Scope::kAlways, "xla_max_concurrent_host_send_recv", "100",
       "transfers between slices under way at once"},
      {"tpu", kV6e, Scope::kAlways, "xla_latency_hiding_scheduler_rerun", "0",
       "no second schedule with less overlap"},
  };
}

std::vector<CompilerSetting> gpu_rows() {
  return {
      {"cuda", "", Scope::kAlways, "xla_gpu_enable_latency_hiding_scheduler", "true",
       "computes while collectives run"},
      {"cuda", "", Scope::kAlways, "xla_gpu_all_reduce_combine_threshold_bytes", kOneGiB,
       "few large collectives: small ones leave the network between nodes idle"},
      {"cuda", "", Scope::kAlways, "xla_gpu_all_gather_combine_threshold_bytes", kOneGiB,
       "one all-gather for the weights of a layer"},
      {"cuda", "", Scope::kAlways, "xla_gpu_reduce_scatter_combine_threshold_bytes", kOneGiB,
       "one reduce-scatter for the gradients of a layer"},
      {"cuda", "", Scope::kAlways, "xla_gpu_enable_triton_gemm", "false",
       "matrix products by cuBLAS; Triton's need measuring on the device to be as fast"},
      {"cuda", "", Scope::kWithoutDevices, "xla_gpu_autotune_level", "0",
       "there is no device to measure kernels on"},
  };
}

std::vector<CompilerSetting> all_rows() {
  auto rows = tpu_rows();
  std::ranges::move(gpu_rows(), std::back_inserter(rows));
  return rows;
}

}  // namespace

const std::vector<CompilerSetting>& compiler_settings() {
  static const std::vector<CompilerSetting> rows = all_rows();
  return rows;
}

Settings settings_for(const Topology& topology, DevicePresence presence) {
  const auto& devices = topology.devices;
  const bool several_slices =
      std::ranges::any_of(devices, [&](const auto& d) { return d.slice != devices[0].slice; });
  Settings out;
  for (const auto& row : compiler_settings()) {
    if (row.platform != topology.platform || devices.empty() ||
        !devices[0].kind.starts_with(row.device_kind) ||
        (row.scope == Scope::kSeveralSlices && !several_slices) ||
        (row.scope == Scope::kWithoutDevices && presence == DevicePresence::kPresent)) {
      continue;
    }
    out.emplace_back(row.name, row.value);
  }
  return out;
}

void check_user_settings(size_t count) {
  if (count <= kMaxUserSettings) return;
  throw ConfigError(
      fmt::format("compiler_options: expected at most {}, got {}", kMaxUserSettings, count));
}

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
