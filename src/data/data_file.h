// Small input files named by the user, such as vocabularies. Their failures are DataErrors.
#pragma once

#include <string>
#include <string_view>

namespace axle {

/// Returns the bytes of the file. Throws DataError naming the file and `field`, the config path to
/// set, if it is missing; also if it can't be read, is too large for a vocabulary, or is of a known
/// format (base/text/file_format.h) other than `expected`, such as "a SentencePiece model".
std::string read_data_file(const std::string& path, std::string_view field,
                           std::string_view expected);
/// As read_data_file(), also of a pipe (read_stream), for a file that is read once. `format` is the
/// known format that is taken, `expected` what errors say.
std::string read_data_stream(const std::string& path, std::string_view field,
                             std::string_view expected, std::string_view format);

}  // namespace axle
