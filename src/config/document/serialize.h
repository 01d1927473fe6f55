// Config trees as JSON and YAML, exact in both directions.
//
// A struct is a mapping of its fields; a Child or functor is {class: Name, field: value, ...,
// "@option": value}, options only where they differ from the default; a named function is its name;
// none, an unset Required and an empty Child are null. In YAML, null is written `none`; a string of
// that text is quoted.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config_ref.h"
#include "config/document/yaml.h"

namespace axle {

nlohmann::ordered_json to_json(const ConfigView& root);
std::string to_yaml(const ConfigView& root);

/// Reads what to_json gives: then equal trees result, whatever `root` held. Fields that are not
/// named keep their value. Throws ConfigError with a line for each mistake: its path and, for
/// unknown names, the nearest one.
void from_json(ConfigRef root, const nlohmann::ordered_json& document,
               std::string_view root_name = {});
void from_yaml(ConfigRef root, std::string_view text, std::string_view root_name = {});

/// The config of a class found by name over all roles: {class: Name, config: {field: value}}; other
/// keys are ignored.
AnyConfig config_from_json(const nlohmann::ordered_json& document, std::string_view root_name = {});

/// Throws ConfigError "<source>: ...".
nlohmann::ordered_json parse_json(std::string_view text, std::string_view source = "json");

}  // namespace axle
