// The documentation of config structs: the comments above them and their fields, which
// cmake/config_docs.py takes from the sources when the program is built.
#pragma once

#include <span>
#include <string_view>

#include "config/config_type.h"

namespace axle {

struct ConfigDoc {
  /// The arguments of AXLE_CONFIG: "RMSNorm" and "eps".
  std::string_view owner, fields;
  /// Empty for the struct itself.
  std::string_view field;
  std::string_view text;
};

/// Enters a table that lives as long as the program; true, so that a constant can do it.
bool register_docs(std::span<const ConfigDoc> docs);

/// Of a field, or with an empty name of the struct itself; "" where there is none.
std::string_view doc_of(const ConfigType& type, std::string_view field = {});

}  // namespace axle
