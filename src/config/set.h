// One field by its path: find it, set it from text, read it as text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/replace.h"

namespace axle {

/// The names of a path, as Slots have them: "a.m['k.e'].v[0].@dtype" -> a, m, ['k.e'], v, [0],
/// @dtype. Throws ConfigError for unbalanced brackets and empty names.
std::vector<std::string> split_config_path(std::string_view path);

/// The slot at `path`; map elements also as ".key". Errors are prefixed by `root_name`. Throws
/// ConfigError: "model.layrs: no such field; did you mean 'layers'? (fields: emb, layers)".
Slot find_slot(const ConfigView& root, std::string_view path, std::string_view root_name = {});

/// Sets the field at `path` from text, typed:
/// leaves: their text (strings with or without quotes); `none` clears an optional, REQUIRED a
/// Required; Child and Fn: the name of a class or function, fields of the same name and type and
/// the options stay, which is returned; "{class: Name, field: value}", which starts from the
/// defaults; "{field: value}" of the class that is there; or a number, where a class stands for
/// one; lists, maps and structs in YAML: "[1, 2, 3]", "{name: data, size: 2}". A map gains elements
/// whose keys are new and keeps those that are not named; "{}" empties it. Throws ConfigError
/// "<path>: expected <what>, got <text>".
std::vector<Replaced> set(ConfigRef root, std::string_view path, std::string_view text,
                          std::string_view root_name = {});
/// Sets the field at `path` from a value of a document, as from_yaml would read it there, except
/// that a map keeps the elements that the value does not name. The text REQUIRED clears a Required.
/// Throws ConfigError as set does.
std::vector<Replaced> set_value(ConfigRef root, std::string_view path,
                                const nlohmann::ordered_json& value,
                                std::string_view root_name = {});

}  // namespace axle
