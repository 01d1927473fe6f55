// Documents into config trees: the one place where JSON, YAML and `set` become values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config_ref.h"

namespace axle {

/// How slot options are treated that a document with a `class:` does not name.
enum class UnnamedOptions { kKeep, kReset };

/// Reads the document into the slot. Fields that a mapping does not name keep their value; where
/// its class differs from the held one, the new config takes over fields as in a replacement.
/// Throws ConfigError with the path.
void read_document(const nlohmann::ordered_json& document, const Slot& slot,
                   const std::string& path, UnnamedOptions unnamed);

}  // namespace axle
