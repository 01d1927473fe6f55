// Config trees as JSON and YAML, both exact when read back.
//
// A struct is a mapping of its fields.
// A Child or functor is {class: Name, field: value, ..., "@option": value}; options appear only if
// they differ from their default. A functor without fields is its name.
// A named function is its name.
// A field that is none, an unset Required and an empty Child are null. YAML writes null as `none`
// and quotes a string of that text.
#pragma once

#include "config/walk.h"

namespace axle {

nlohmann::ordered_json to_json(const Slot& root);
std::string to_yaml(const Slot& root);

/// Reads the output of to_json; the tree then equals the one that was written, whatever `root` held
/// before. Fields that the document does not name keep their values. Throws ConfigError with a line
/// for each mistake: its path and, for an unknown name, the nearest known name.
void from_json(ConfigRef root, const nlohmann::ordered_json& document,
               std::string_view root_name = {});
void from_yaml(ConfigRef root, std::string_view text, std::string_view root_name = {});

/// Finds a class by name over all roles and reads its config from {class: Name, config: {field:
/// value}}. Ignores other keys.
AnyConfig config_from_json(const nlohmann::ordered_json& document, std::string_view root_name = {});

}  // namespace axle
