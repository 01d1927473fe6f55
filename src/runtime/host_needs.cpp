#include "runtime/host_needs.h"

#include "base/checked.h"

namespace axle {

bool is_host(std::string_view platform) { return platform == "cpu" || platform == "interpreter"; }

std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, std::string_view platform) {
  HostNeed parameters{"parameters"}, others{"state of the learner"},
      copy{"a copy of the state while a checkpoint is saved"};
  for (const ProgramValue& leaf : state) {
    HostNeed& need = leaf.name.starts_with("model/") ? parameters : others;
    const auto bytes = static_cast<int64_t>(leaf.type.num_bytes());
    need.bytes = saturating_sum(need.bytes, bytes);
    copy.bytes = saturating_sum(copy.bytes, bytes);
  }
  if (!is_host(platform)) return {copy};
  return {parameters, others, copy};
}

std::vector<HostNeed> program_needs(const CompiledProgram& program, int64_t num_devices,
                                    std::string_view platform) {
  const auto stats = program.memory();
  if (!is_host(platform) || !stats) return {};
  const int64_t results = stats->output_bytes - stats->alias_bytes;
  return {{"temporaries of a step", stats->temporary_bytes * num_devices},
          {"its results and its code", (results + stats->code_bytes) * num_devices}};
}

void check_program_room(const CompiledProgram& program, int64_t num_devices,
                        std::string_view platform) {
  check_host_memory(program_needs(program, num_devices, platform), host_memory());
}

}  // namespace axle
