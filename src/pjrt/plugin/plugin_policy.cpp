#include "pjrt/plugin/plugin_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/process_start.h"
#include "io/file.h"
#include "pjrt/plugin/find_plugin.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// XLA reads these flags once, from the environment. The timeouts: by default XLA ends the process
// when a device has waited 40 s for another one in a collective, which is too short for many
// virtual devices on few cores. The last flag: in some builds a faster maximum drops NaNs.
const EnvironmentDefault kXlaFlags{.name = "XLA_FLAGS",
                                   .value =
                                       "--xla_cpu_collective_call_warn_stuck_timeout_seconds=120 "
                                       "--xla_cpu_collective_call_terminate_timeout_seconds=1200 "
                                       "--xla_cpu_enable_fast_min_max=false",
                                   .is_flag_list = true};
// Silences XLA's log. Errors are still returned as errors.
const EnvironmentDefault kQuietLog{.name = "TF_CPP_MIN_LOG_LEVEL", .value = "2"};

// XLA's clients take 75 % of a GPU unless told otherwise.
constexpr ClientMemory kGpuMemory{.fraction = 0.92f, .preallocate = true};

std::vector<std::string> tpu_device_files() { return {"/dev/accel0", "/dev/vfio/0"}; }

}  // namespace

const std::vector<PluginPolicy>& plugin_policies() {
  static const std::vector<PluginPolicy> rows = {
      {.platform = "cpu",
       .files = {"pjrt_c_api_cpu_plugin.so"},
       .device_count_option = "cpu_device_count",
       .environment = {kXlaFlags, kQuietLog},
       // XLA's thunk_proto_serdes.cc gives each computation a resource of its own
       // (hlo/collectives.h).
       .reorders_loaded_collectives = true,
       .compiler_attributes = {"xla_version", "stablehlo_current_version"},
       .limits = "compiles for N devices with a client of N virtual devices; reports no FLOPs; "
                 "can't save multi-device programs that communicate in loops",
       .install_hint = "run `axle plugin fetch cpu`"},
      {.platform = "cuda",
       .files = {"xla_cuda_plugin.so", "pjrt_c_api_gpu_plugin.so"},
       .fast_network = FastNetwork::kProcess,
       .memory = kGpuMemory,
       .environment = {kQuietLog},
       .device_files = {"/dev/nvidia0", "/dev/dxg"},
       .compiles_ahead = true,
       .needs_cuda_toolkit = true,
       .compiler_attributes = {"stablehlo_current_version", "cuda_version"},
       .limits = "trained and generated on one H100; several GPUs are compiled for, ahead of time. "
                 "Reports "
                 "no FLOPs",
       .install_hint = "run `axle plugin fetch cuda`"},
      // Without a TPU, libtpu serves to compile only. It must not wait for the metadata server of
      // Google's cloud, and several processes may load it at once. It asks for an accelerator type
      // and host names, whose values do not matter because programs are compiled for a topology.
      {.platform = "tpu",
       .files = {"libtpu.so"},
       .fast_network = FastNetwork::kSlice,
       .environment =
           {{.name = "TPU_SKIP_MDS_QUERY", .value = "1", .unless_file = tpu_device_files()},
            {.name = "TPU_ACCELERATOR_TYPE", .value = "v5p-8", .unless_file = tpu_device_files()},
            {.name = "TPU_WORKER_HOSTNAMES",
             .value = "localhost",
             .unless_file = tpu_device_files()},
            {.name = "ALLOW_MULTIPLE_LIBTPU_LOAD", .value = "1", .unless_file = tpu_device_files()},
            {.name = "TPU_LOG_DIR", .value = "disabled"},
            kQuietLog},
       .device_files = tpu_device_files(),
       .compiles_ahead = true,
       .limits = "ahead-of-time compilation is tested, training on TPUs is not. Counts the body of "
                 "a loop once, whatever its trip count",
       .install_hint = "run `axle plugin fetch tpu`"},
      {.platform = "neuron",
       .files = {"libneuronpjrt.so"},
       .struct_sizes = StructSizes::kExact,
       .fast_network = FastNetwork::kProcess,
       .environment = {kQuietLog},
       .device_files = {"/dev/neuron0"},
       .limits = "not tested: it comes only with AWS's SDK and starts the compiler of that SDK",
       .install_hint =
           "install the AWS Neuron SDK and set AXLE_PLUGIN_NEURON to its libneuronpjrt.so"},
      {.platform = "rocm",
       .files = {"xla_rocm_plugin.so"},
       .fast_network = FastNetwork::kProcess,
       .memory = kGpuMemory,
       .environment = {kQuietLog},
       .device_files = {"/dev/kfd"},
       .limits = "not tested, on a device or ahead of time",
       .install_hint =
           "unpack the wheel jax-rocm7-pjrt into .axle/plugins, or set AXLE_PLUGIN_ROCM to its "
           "xla_rocm_plugin.so"},
  };
  return rows;
}

PluginPolicy plugin_policy(std::string_view platform) {
  for (const auto& row : plugin_policies()) {
    if (row.platform == platform) return row;
  }
  return {.platform = std::string(platform),
          .install_hint = fmt::format("set {} to the plugin's file", plugin_variable(platform))};
}

int64_t bytes_for_programs(const PluginPolicy& policy, int64_t device_bytes) {
  if (policy.memory.fraction == 0) return device_bytes;
  return static_cast<int64_t>(static_cast<double>(device_bytes) * policy.memory.fraction);
}

bool has_device(const PluginPolicy& policy) {
  return policy.device_files.empty() || std::ranges::any_of(policy.device_files, path_exists);
}

std::string plugin_variable(std::string_view platform) {
  std::string name = "AXLE_PLUGIN_";
  for (char c : platform) {
    name += std::isalnum(static_cast<unsigned char>(c))
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                : '_';
  }
  return name;
}

std::string merge_flags(std::string_view flags, std::string_view defaults) {
  const auto name_of_flag = [](const std::string& word) { return word.substr(0, word.find('=')); };
  std::set<std::string> named;
  std::istringstream users{std::string(flags)};
  for (std::string word; users >> word;) named.insert(name_of_flag(word));
  std::string out(flags);
  std::istringstream words{std::string(defaults)};
  for (std::string word; words >> word;) {
    if (named.contains(name_of_flag(word))) continue;
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

namespace {

/// Returns the user's flags. If the value does not begin with a dash, XLA takes all of it for the
/// name of a file that holds the flags.
std::string users_flags(const std::string& name) {
  const std::string value = environment_variable(name);
  const size_t begin = value.find_first_not_of(" \t\r\n");
  if (begin == value.npos || value[begin] == '-') return value;
  std::error_code is_no_path;
  if (!fs::is_regular_file(value, is_no_path)) {
    throw ConfigError(fmt::format(
        "{}: expected flags that begin with --, or a file that holds them, got '{}'", name, value));
  }
  return read_file(value);
}

/// Sets the variable to `entry.value`, unless the user has set it. A list of flags is instead
/// appended to the user's, without the flags that the user's list names.
void set_default(const EnvironmentDefault& entry) {
  // A variable that the user has set to an empty value counts as set.
  if (!entry.is_flag_list && std::getenv(entry.name.c_str())) return;
  const std::string value =
      entry.is_flag_list ? merge_flags(users_flags(entry.name), entry.value) : entry.value;
  ::setenv(entry.name.c_str(), value.c_str(), 1);
}

}  // namespace

void apply_environment(const PluginPolicy& policy, const fs::path& folder) {
  for (const auto& entry : policy.environment) {
    if (std::ranges::none_of(entry.unless_file, path_exists)) set_default(entry);
  }
  if (!policy.needs_cuda_toolkit) return;
  const auto toolkit = find_cuda_toolkit(folder);
  // XLA splits the flags at blanks, so a path with a blank cannot be passed.
  if (!toolkit || toolkit->string().find(' ') != std::string::npos) return;
  set_default({.name = "XLA_FLAGS",
               .value = "--xla_gpu_cuda_data_dir=" + toolkit->string(),
               .is_flag_list = true});
}

}  // namespace axle
