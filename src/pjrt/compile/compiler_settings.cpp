// Sources:
//   TPU  the options that AXLearn trains its models with (axlearn/common/compiler_options.py). Left
//        out are the options for its random generator, which differs from ours, and fused
//        asynchronous collectives on v6e, which libtpu 0.0.51 refuses there as unsafe.
//   GPU  the options of AXLearn's GPU jobs and of NVIDIA's training scripts.
//   CPU  no rows: no option was found that helps.
#include "pjrt/compile/compiler_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {
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

}  // namespace axle
