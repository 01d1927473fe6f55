// A compile report as text and as JSON.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/compile_report.h"
#include "targets/target.h"

namespace axle {

struct RefusedMeshError;

std::string to_text(const CompileReport& report);
nlohmann::ordered_json to_json(const CompileReport& report);
/// Returns the JSON that replaces a report if the mesh was refused.
nlohmann::ordered_json to_json(const RefusedMeshError& error, const Resolved& resolved,
                               const Target& target);

/// Returns a line for each option that the compiler of `target` refuses, and one if the target has
/// too many virtual devices. To ask the compiler, it compiles a program of one addition per option.
/// Also empty if the compiler cannot be asked quickly: its plugin is missing or cannot be used, or
/// the platform has no virtual devices, so that starting the plugin takes seconds.
std::vector<std::string> compiler_option_problems(const std::map<std::string, std::string>& options,
                                                  const Target& target);

}  // namespace axle
