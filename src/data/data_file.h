// Small input files that the user names, vocabularies: what goes wrong with them is a DataError.
#pragma once

#include <string>
#include <string_view>

namespace axle {

/// The whole file. Throws DataError naming the file and `field`, the config path that names it;
/// also for a file that is too large for a vocabulary.
std::string read_data_file(const std::string& path, std::string_view field);

}  // namespace axle
