// The fields of a config in the value of a flag: "rank=16,at=**.attention.**,except=[**.up]".
#pragma once

#include <string>
#include <vector>

#include "config/config_type.h"

namespace axle::cli {

struct FlagField {
  std::string name, value;
};

/// Reads FIELD=VALUE with commas between them. A comma in brackets or quotes is part of a value.
/// Throws CLI::ValidationError for other text.
std::vector<FlagField> flag_fields(const char* flag, const std::string& text);
/// Returns the fields as YAML: "{rank: 16, at: \"**.attention.**\"}". What would be a sign of YAML
/// in a value is quoted, and one value of a list is a list: patterns need no quotes. `type` says
/// which fields are lists.
std::string flow_text(const std::vector<FlagField>& fields, const ConfigType& type);

}  // namespace axle::cli
