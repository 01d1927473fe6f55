#include "io/file_kind.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "io/file.h"

namespace axle {
namespace {

void check_regular(mode_t mode, const std::filesystem::path& path) {
  if (S_ISREG(mode)) return;
  throw StorageError(
      fmt::format("{}: expected a regular file, got {}", path.string(), kind_name(mode)));
}

}  // namespace

const char* kind_name(mode_t mode) {
  return S_ISREG(mode)    ? "a regular file"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

void check_regular(const std::filesystem::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) check_regular(info.st_mode, path);
}

void check_regular(int fd, const std::filesystem::path& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) fail_storage(path, "inspect", errno);
  check_regular(info.st_mode, path);
}

}  // namespace axle
