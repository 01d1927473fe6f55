#include "runtime/host_needs.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text/units.h"

namespace axle {

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
