// Differences of two configs as a report.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/document/print.h"

namespace axle::cli {

struct ConfigChanges {
  std::vector<ConfigChange> changes;
};

/// "path: before -> after" a line; "no differences" without any.
std::string to_text(const ConfigChanges& report);
/// {changes: {path: {before, after}}}, null on the side that lacks the path.
nlohmann::ordered_json to_json(const ConfigChanges& report);

}  // namespace axle::cli
