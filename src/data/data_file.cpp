#include "data/data_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/file.h"

namespace axle {
namespace {

// Published vocabularies have up to 20 MB, for a million pieces.
constexpr int64_t kMaxBytes = int64_t{64} << 20;

}  // namespace

std::string read_data_file(const std::string& path, std::string_view field) {
  if (!path_exists(path))
    throw DataError(fmt::format("{}: expected a file, got nothing there; set {}", path, field));
  return storage_error_as<DataError>([&] { return read_file(path, kMaxBytes); });
}

}  // namespace axle
