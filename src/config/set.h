// Sets fields of config trees: JSON, YAML and the texts of `--set` all become values here.
#pragma once

#include "config/replace.h"

namespace axle {

/// What happens to the options of a slot, and to the entries of a map, that a document does not
/// name. Options are in question only where it names a `class:`.
enum class UnnamedValues { kKeep, kReset };

/// Reads the document into the slot and returns the fields that replacements carried over.
///   struct: fields that the document does not name keep their values;
///   map: null removes an entry that is a struct, a class or a function;
///   mapping without `class`: the class stays, and fields that are not named keep their values;
///   `{class: Name, ...}`: the other fields start from the defaults of the class;
///   name of a class or function alone: replaces the class and carries fields over; the result
///     lists them;
///   number in place of a class: makes the class of the role that declares kFromNumber.
/// Throws ConfigError with one line for each mistake, beginning with its path. Reads everything
/// else before it throws.
std::vector<Rewrite> read_document(const nlohmann::ordered_json& document, const Slot& slot,
                                   const std::string& path, UnnamedValues unnamed);

/// Sets the field at `path` from text, according to the type of the field:
///   leaf: its text; strings may be quoted;
///   optional: also `none`, which clears it;
///   Required: also REQUIRED, which clears it;
///   Child, Fn: the name of a class or function, a number, or a mapping in YAML, each read as
///     read_document() does;
///   list, struct: YAML, "[1, 2, 3]" or "{name: data, size: 2}";
///   map: YAML; new keys are added, other entries stay; "{}" empties the map;
///   entry of a map of structs, classes or functions: also `none`, which removes it.
/// Throws ConfigError "<path>: expected <what>, got <text>".
std::vector<Rewrite> set(ConfigRef root, std::string_view path, std::string_view text,
                         std::string_view root_name = {});
/// Sets the field at `path` from a value of a document. read_document() reads a mapping, a list,
/// null or the text of a leaf. Other strings and REQUIRED are read as set() reads text. Throws
/// ConfigError as set() does.
std::vector<Rewrite> set_value(ConfigRef root, std::string_view path,
                               const nlohmann::ordered_json& value,
                               std::string_view root_name = {});

}  // namespace axle
