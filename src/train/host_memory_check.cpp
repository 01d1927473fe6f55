#include "train/host_memory_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace axle {
namespace {

bool is_host(std::string_view platform) { return platform == "cpu" || platform == "interpreter"; }

std::string shown(int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Sizes of a model that nobody has may be beyond any number.
int64_t sum(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

}  // namespace

std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, std::string_view platform) {
  HostNeed parameters{"parameters"}, others{"state of the learner"},
      copy{"a copy of the state while a checkpoint is saved"};
  for (const ProgramValue& leaf : state) {
    HostNeed& need = leaf.name.starts_with("model/") ? parameters : others;
    const auto bytes = static_cast<int64_t>(leaf.type.num_bytes());
    need.bytes = sum(need.bytes, bytes);
    copy.bytes = sum(copy.bytes, bytes);
  }
  if (!is_host(platform)) return {copy};
  return {parameters, others, copy};
}

std::vector<HostNeed> program_needs(const CompiledProgram& step, int64_t num_devices,
                                    std::string_view platform) {
  const auto stats = step.memory();
  if (!is_host(platform) || !stats) return {};
  const int64_t results = stats->output_bytes - stats->alias_bytes;
  return {{"temporaries of a step", stats->temporary_bytes * num_devices},
          {"its results and its code", (results + stats->code_bytes) * num_devices}};
}

void check_host_memory(std::span<const HostNeed> needs, const HostMemory& memory) {
  int64_t needed = 0;
  std::vector<std::string> parts;
  for (const HostNeed& need : needs) {
    needed = sum(needed, need.bytes);
    parts.push_back(fmt::format("{} {}", need.what, shown(need.bytes)));
  }
  if (memory.total_bytes == 0 || needed <= memory.available_bytes) return;
  throw Error(
      fmt::format("memory of the host: expected {} for this run ({}), got {} available of {}; take "
                  "a smaller model or batch, or a machine with more of it",
                  shown(needed), join(parts, ", "), shown(memory.available_bytes),
                  shown(memory.total_bytes)),
      ExitCode::kDoesNotFit);
}

}  // namespace axle
