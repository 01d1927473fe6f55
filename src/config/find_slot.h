// Finds a field of a config tree by its path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_ref.h"

namespace axle {

/// Splits a path into names as Slots have them: "a.m['k.e'].v[0].@dtype" -> a, m, ['k.e'], v, [0],
/// @dtype. Throws ConfigError for unbalanced brackets and empty names.
std::vector<std::string> split_config_path(std::string_view path);

/// Returns the slot at `path`. ".key" also finds a map element. Error messages begin with
/// `root_name`. Throws ConfigError "model.layrs: no such field; did you mean 'layers'? (fields:
/// emb, layers)".
Slot find_slot(const ConfigView& root, std::string_view path, std::string_view root_name = {});
/// Does the same for a field that is about to be set: creates the optional structs on the path, and
/// a new element of a map at its end.
Slot find_or_make_slot(ConfigRef root, std::string_view path, std::string_view root_name = {});

/// Returns the whole number of the field at `path`; 0 if there is no such field or no number in it.
int64_t whole_number(const ConfigView& root, std::string_view path);

/// True for a map whose entries `none` removes: those of structs, classes and functions. Other
/// entries may hold `none` themselves.
bool none_removes_entries(const TypeOps& map);
/// Removes the entry of such a map at `path`. Returns false if `path` names something else. Throws
/// ConfigError as find_slot() does.
bool remove_entry(ConfigRef root, std::string_view path, std::string_view root_name = {});

/// Returns the text without the pair of quotes around it, if there is one.
std::string_view unquoted(std::string_view text);

}  // namespace axle
