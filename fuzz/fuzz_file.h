// What the programs of this folder share: bytes as files, and errors that are no findings.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
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

/// A folder in memory for the files of one process, which goes with it.
class FuzzFolder {
 public:
  FuzzFolder() {
    std::string made = "/dev/shm/axle_fuzz_XXXXXX";
    if (!::mkdtemp(made.data())) std::abort();
    path_ = made;
  }
  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  /// Writes these files, each with the bytes up to the next NUL, the last one with all that are
  /// left. Names that no bytes are left for have no file.
  void write(std::string_view bytes, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      std::filesystem::remove(path_ / name);
      if (bytes.data() == nullptr) continue;
      const size_t end = name == *(names.end() - 1) ? bytes.size() : bytes.find('\0');
      std::ofstream(path_ / name, std::ios::binary) << bytes.substr(0, end);
      bytes = end < bytes.size() ? bytes.substr(end + 1) : std::string_view();
    }
  }

 private:
  std::filesystem::path path_;
};

/// Calls parse(). An error with one of these codes is a good end; every other one is a finding.
/// Parsers that list several mistakes may have lines.
template <class Fn>
void expect_lines_or_result(std::initializer_list<ExitCode> codes, Fn&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (std::ranges::find(codes, error.code()) == codes.end()) throw;
  }
}
/// Likewise, and the error has one line.
template <class Fn>
void expect_result_or_error(std::initializer_list<ExitCode> codes, Fn&& parse) {
  expect_lines_or_result(codes, [&] {
    try {
      parse();
    } catch (const Error& error) {
      if (std::string_view(error.what()).find('\n') != std::string_view::npos)
        throw std::runtime_error(error.what());
      throw;
    }
  });
}

}  // namespace axle
