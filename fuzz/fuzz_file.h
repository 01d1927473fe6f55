// What the programs of this folder share: bytes as a file, and errors that are no findings.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace axle {

/// A file in memory with these bytes.
class FuzzFile {
 public:
  FuzzFile(const uint8_t* data, size_t size) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~FuzzFile() { ::close(fd_); }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Calls parse(). An error of one line with one of these codes is a good end; every other one is a
/// finding.
template <class Fn>
void expect_result_or_error(std::initializer_list<ExitCode> codes, Fn&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    const bool is_good = std::ranges::find(codes, error.code()) != codes.end();
    if (!is_good || std::string_view(error.what()).find('\n') != std::string_view::npos) throw;
  }
}

}  // namespace axle
