// The documentation of config structs: the comments above the structs and above their fields.
// cmake/config_docs.py extracts them from the sources when the program is built.
#pragma once

#include <span>
#include <string_view>

#include "config/config_type.h"

namespace axle {

struct ConfigDoc {
  /// The arguments of AXLE_CONFIG: "RMSNorm" and "eps".
  std::string_view owner, fields;
  /// Empty for the text of the struct itself.
  std::string_view field;
  std::string_view text;
};

/// Adds a table that must live as long as the program. Returns true, so that the initialiser of a
/// constant can call it.
bool register_docs(std::span<const ConfigDoc> docs);

/// Returns the text of a field, or of the struct if `field` is empty; "" if there is none.
std::string_view doc_of(const ConfigType& type, std::string_view field = {});

}  // namespace axle
