// For tests of advice: what a command asks for, and a report without a compiler.
#pragma once

#include <string>
#include <vector>

#include "plan/compile_report.h"

namespace axle {

struct Asked {
  ResolveRequest request;
  Resolved resolved;
  Target target;
};
inline Asked asked(const std::string& recipe, const std::string& on, std::vector<Edit> edits) {
  Asked out{.request = {.recipe = recipe, .edits = std::move(edits)},
            .resolved = {},
            .target = parse_target(on)};
  out.request.machine = out.target.machine();
  out.resolved = resolve_config(out.request);
  return out;
}

inline CompileReport report_of(double memory, double bytes) {
  CompileReport out;
  out.device_memory_bytes = static_cast<int64_t>(memory);
  out.memory = MemoryStats{.temporary_bytes = static_cast<int64_t>(bytes)};
  return out;
}

}  // namespace axle
