// Documents into config trees: the one place where JSON, YAML and `set` become values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/replace.h"

namespace axle {

/// What becomes of slot options that a document with a `class:` does not name, and of map entries
/// that a mapping which is not empty does not name.
enum class UnnamedOptions { kKeep, kReset };

/// Reads the document into the slot. Of a struct, and of a class that a mapping does not name, the
/// fields that it does not name keep their value. `{class: Name, ...}` starts from the defaults of
/// the class; the name alone is a replacement, which takes over fields: what it kept is returned.
/// A number in place of a class makes the one that declares kFromNumber. Throws ConfigError
/// with a line for each mistake, which begins with its path; all else is read then.
std::vector<Replaced> read_document(const nlohmann::ordered_json& document, const Slot& slot,
                                    const std::string& path, UnnamedOptions unnamed);

}  // namespace axle
