// The header of a saved executable as JSON.
#pragma once

#include <string>
#include <string_view>

#include "pjrt/compile/saved_executable.h"

namespace axle {

std::string header_to_json(const SavedHeader& header);
/// Parses a header. Throws StorageError, whose message begins with `where`, if `text` is not one.
SavedHeader header_from_json(std::string_view text, const std::string& where);

}  // namespace axle
