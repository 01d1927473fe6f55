// A report of the differences between two configs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/document/print.h"

namespace axle::cli {

struct ConfigChanges {
  std::vector<ConfigChange> changes;
};

/// Returns one line "path: before -> after" for each difference; "no differences" if there are
/// none.
std::string to_text(const ConfigChanges& report);
/// Returns {changes: {path: {before, after}}}. The value of a side that lacks the path is null.
nlohmann::ordered_json to_json(const ConfigChanges& report);

}  // namespace axle::cli
