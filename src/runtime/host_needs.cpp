#include "runtime/host_needs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "base/text/text_table.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

// Returns "f32[2000,4,256,256] of model.decoder.layers.layer0.attention.body.core 2.0 GiB".
std::string item_text(const TemporaryBuffer& item) {
  std::string layer = item.layer;
  std::ranges::replace(layer, '/', '.');
  return fmt::format("{}{}{} {}", item.count > 1 ? fmt::format("{} ", item.count) : "", item.shape,
                     layer.empty() ? "" : " of " + layer,
                     bytes_text(static_cast<double>(item.bytes)));
}

}  // namespace

bool is_host(std::string_view platform) { return platform == "cpu" || platform == "interpreter"; }

int64_t bytes_on_devices(const ProgramValue& value, const Mesh& mesh) {
  const int64_t parts = num_parts(restrict(value.sharding, value.type.dims, mesh), mesh);
  const auto bytes = static_cast<int64_t>(value.type.num_bytes());
  return saturating_product(bytes, mesh.num_devices() / parts);
}

std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, const Mesh& mesh,
                                  std::string_view platform) {
  HostNeed parameters{"parameters"}, others{"state of the learner"},
      copy{"a copy of the state while a checkpoint is saved"};
  int64_t largest = 0;
  for (const ProgramValue& leaf : state) {
    const bool is_parameter = leaf.name.starts_with("model/");
    HostNeed& need = is_parameter ? parameters : others;
    const int64_t bytes = bytes_on_devices(leaf, mesh);
    need.bytes = saturating_sum(need.bytes, bytes);
    if (is_parameter && bytes > largest) {
      largest = bytes;
      need.largest = leaf.name + " " + bytes_text(bytes);
      std::ranges::replace(need.largest, '/', '.');
    }
    copy.bytes = saturating_sum(copy.bytes, static_cast<int64_t>(leaf.type.num_bytes()));
  }
  if (!is_host(platform)) return {copy};
  return {parameters, others, copy};
}

void check_state_memory(std::span<const ProgramValue> state, std::string_view platform,
                        const HostMemory& memory) {
  check_host_memory(state_needs(state, {}, platform), memory, kStateTooLarge);
}

std::vector<HostNeed> estimated_needs(std::span<const TracedProgram> programs,
                                      std::string_view platform) {
  std::vector<HostNeed> out;
  if (!is_host(platform)) return out;
  double most = 0;
  for (const auto& [name, program] : programs) {
    const MemoryEstimate estimate = estimate_memory(*program);
    constexpr double kMax = 1e18;
    const double bytes =
        std::min(estimate.temporary_bytes * static_cast<double>(program->mesh.num_devices()), kMax);
    if (bytes <= most) continue;
    most = bytes;
    HostNeed need{"at least the temporaries of " + name, static_cast<int64_t>(bytes)};
    if (!estimate.largest.empty()) need.largest = item_text(estimate.largest.front());
    out = {std::move(need)};
  }
  return out;
}

std::vector<HostNeed> program_needs(std::span<const NamedProgram> programs, int64_t num_devices,
                                    std::string_view platform) {
  std::vector<HostNeed> most;
  int64_t most_bytes = -1;
  for (const auto& [name, program] : programs) {
    const auto stats = program->memory();
    if (!is_host(platform) || !stats) continue;
    const int64_t temporaries = saturating_product(stats->temporary_bytes, num_devices);
    const int64_t rest = saturating_product(
        stats->output_bytes - stats->alias_bytes + stats->code_bytes, num_devices);
    const int64_t bytes = saturating_sum(temporaries, rest);
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    most = {{"temporaries of " + name, temporaries}, {"its results and its code", rest}};
  }
  return most;
}

void check_program_memory(const NamedProgram& program, int64_t num_devices,
                          std::string_view platform) {
  check_host_memory(program_needs(std::span(&program, 1), num_devices, platform), host_memory());
}

}  // namespace axle
