#include "runtime/plugin_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace axle {
namespace {

// XLA ends the process when a device waits 40 s for another one in a collective: too short for many
// virtual devices that share few cores. And some builds let reductions by maximum drop a NaN, to be
// faster. It reads these flags once, from the environment.
const EnvironmentDefault kXlaFlags{.name = "XLA_FLAGS",
                                   .value =
                                       "--xla_cpu_collective_call_warn_stuck_timeout_seconds=120 "
                                       "--xla_cpu_collective_call_terminate_timeout_seconds=1200 "
                                       "--xla_cpu_enable_fast_min_max=false",
                                   .is_flag_list = true};
// Errors still come back as errors; this only quiets what XLA prints on its way.
const EnvironmentDefault kQuietLog{.name = "TF_CPP_MIN_LOG_LEVEL", .value = "2"};

std::vector<std::string> tpu_device_files() { return {"/dev/accel0", "/dev/vfio/0"}; }

}  // namespace

const std::vector<PluginPolicy>& plugin_policies() {
  static const std::vector<PluginPolicy> rows = {
      {.platform = "cpu",
       .files = {"pjrt_c_api_cpu_plugin.so"},
       .device_count_option = "cpu_device_count",
       .environment = {kXlaFlags, kQuietLog},
       .how_to_get = "run `./dev plugin cpu`"},
      {.platform = "cuda",
       .files = {"xla_cuda_plugin.so", "pjrt_c_api_gpu_plugin.so"},
       .environment = {kQuietLog},
       .how_to_get = "run `./dev plugin cuda`"},
      // Away from Google's cloud libtpu would wait for its metadata server; without a TPU it is
      // there to compile only.
      {.platform = "tpu",
       .files = {"libtpu.so"},
       .environment = {{.name = "TPU_SKIP_MDS_QUERY",
                        .value = "1",
                        .unless_file = tpu_device_files()},
                       {.name = "TPU_LOG_DIR", .value = "disabled"},
                       kQuietLog},
       .how_to_get = "run `./dev plugin tpu`"},
      {.platform = "neuron",
       .files = {"libneuronpjrt.so"},
       .struct_sizes = StructSizes::kExact,
       .environment = {kQuietLog},
       .how_to_get =
           "install the AWS Neuron SDK and set AXLE_PLUGIN_NEURON to its libneuronpjrt.so"},
      {.platform = "rocm",
       .files = {"xla_rocm_plugin.so"},
       .environment = {kQuietLog},
       .how_to_get =
           "set AXLE_PLUGIN_ROCM to the xla_rocm_plugin.so of a ROCm installation of JAX"},
  };
  return rows;
}

PluginPolicy plugin_policy(std::string_view platform) {
  for (const auto& row : plugin_policies()) {
    if (row.platform == platform) return row;
  }
  return {.platform = std::string(platform),
          .how_to_get = fmt::format("set {} to the plugin's file", plugin_variable(platform))};
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
  std::string out(flags);
  std::istringstream words{std::string(defaults)};
  for (std::string word; words >> word;) {
    if (flags.find(word.substr(0, word.find('='))) != std::string_view::npos) continue;
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

void apply_environment(const PluginPolicy& policy) {
  for (const auto& entry : policy.environment) {
    const auto exists = [](const std::string& file) { return std::filesystem::exists(file); };
    if (std::ranges::any_of(entry.unless_file, exists)) continue;
    const char* users = std::getenv(entry.name.c_str());
    if (users && !entry.is_flag_list) continue;
    const std::string value =
        entry.is_flag_list ? merge_flags(users ? users : "", entry.value) : entry.value;
    ::setenv(entry.name.c_str(), value.c_str(), 1);
  }
}

}  // namespace axle
