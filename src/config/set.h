// Access to one field by its path: finds it, or sets it from text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/replace.h"

namespace axle {

/// Splits a path into names as Slots have them: "a.m['k.e'].v[0].@dtype" -> a, m, ['k.e'], v, [0],
/// @dtype. Throws ConfigError for unbalanced brackets and empty names.
std::vector<std::string> split_config_path(std::string_view path);

/// Returns the slot at `path`. ".key" also finds a map element. Error messages begin with
/// `root_name`. Throws ConfigError "model.layrs: no such field; did you mean 'layers'? (fields:
/// emb, layers)".
Slot find_slot(const ConfigView& root, std::string_view path, std::string_view root_name = {});

/// Sets the field at `path` from text, according to the type of the field:
///   leaf: its text; strings may be quoted;
///   optional: also `none`, which clears it;
///   Required: also REQUIRED, which clears it;
///   Child, Fn: the name of a class or function (fields of the same name and type and the slot
///     options are kept; the result tells which);
///     or "{class: Name, field: value}", which starts from the defaults of the class;
///     or "{field: value}", which changes fields of the current class;
///     or a number, if a class of the role stands for numbers;
///   list, struct: YAML, "[1, 2, 3]" or "{name: data, size: 2}";
///   map: YAML; new keys are added, other entries stay; "{}" empties the map.
/// Throws ConfigError "<path>: expected <what>, got <text>".
std::vector<Replaced> set(ConfigRef root, std::string_view path, std::string_view text,
                          std::string_view root_name = {});
/// Sets the field at `path` from a value of a document. A mapping, a list, null or the text of a
/// leaf is read as from_json() reads it. Other strings and REQUIRED are read as set() reads text.
/// Throws ConfigError as set() does.
std::vector<Replaced> set_value(ConfigRef root, std::string_view path,
                                const nlohmann::ordered_json& value,
                                std::string_view root_name = {});

}  // namespace axle
