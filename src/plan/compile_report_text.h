// A compile report as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "plan/compile_report.h"

namespace axle {

struct RefusedMeshError;

std::string to_text(const CompileReport& report);
nlohmann::ordered_json to_json(const CompileReport& report);
/// Returns the JSON that replaces a report if the mesh was refused.
nlohmann::ordered_json to_json(const RefusedMeshError& error, const Resolved& resolved,
                               const Target& target);

}  // namespace axle
