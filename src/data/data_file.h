// Small input files named by the user, such as vocabularies. Their failures are DataErrors.
#pragma once

#include <string>
#include <string_view>

namespace axle {

/// Returns the bytes of the file. Throws DataError naming the file and `field`, the config path to
/// set, if it is missing; also if it can't be read or is too large for a vocabulary.
std::string read_data_file(const std::string& path, std::string_view field);

}  // namespace axle
