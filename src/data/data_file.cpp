#include "data/data_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/file_format.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

// Published vocabularies have up to 20 MB, for a million pieces.
constexpr int64_t kMaxBytes = int64_t{64} << 20;

template <class Read>
std::string read_checked(const std::string& path, std::string_view field, std::string_view expected,
                         std::string_view format, Read read) {
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", field, problem));
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) {
    throw DataError(
        fmt::format("{}: expected a file, got {}; set {}", path, nothing_at(file), field));
  }
  std::string bytes = storage_error_as<DataError>([&] { return read(file, kMaxBytes); });
  check_format<DataError>(path, expected, format, bytes);
  return bytes;
}

}  // namespace

std::string read_data_file(const std::string& path, std::string_view field,
                           std::string_view expected) {
  return read_checked(path, field, expected, expected, read_file);
}

std::string read_data_stream(const std::string& path, std::string_view field,
                             std::string_view expected, std::string_view format) {
  return read_checked(path, field, expected, format, read_stream);
}

}  // namespace axle
