// Reads documents into config trees: JSON, YAML and `set` all become values here.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/replace.h"

namespace axle {

/// What happens to values that the document does not name. These are the slot's options where it
/// names a `class:`, and the other entries of a map.
enum class UnnamedValues { kKeep, kReset };

/// Reads the document into the slot and returns the fields that replacements carried over.
///   struct: fields that the document does not name keep their values;
///   mapping without `class`: the class stays, and fields that are not named keep their values;
///   `{class: Name, ...}`: the other fields start from the defaults of the class;
///   name of a class alone: replaces the class and carries fields over; the result lists them;
///   number in place of a class: makes the class of the role that declares kFromNumber.
/// Throws ConfigError with one line for each mistake, beginning with its path. Reads everything
/// else before it throws.
std::vector<Replaced> read_document(const nlohmann::ordered_json& document, const Slot& slot,
                                    const std::string& path, UnnamedValues unnamed);

}  // namespace axle
