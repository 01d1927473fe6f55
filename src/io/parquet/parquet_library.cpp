#include "io/parquet/parquet_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/environment.h"
#include "base/error.h"
#include "base/own_folders.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "AXLE_ARROW";

bool is_file(const fs::path& path) {
  std::error_code ignored;  // a path without permission counts as missing
  return fs::is_regular_file(path, ignored);
}

const AxleParquetAdapter& load(const fs::path& file) {
  const auto fail = [&](const std::string& got) {
    throw DataError(fmt::format(
        "{}: expected the library that reads Parquet, got {}; `./dev parquet` makes it anew",
        file.string(), got));
  };
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(::dlerror());
  const auto function =
      reinterpret_cast<decltype(&axle_parquet_adapter)>(::dlsym(library, kAxleParquetFunction));
  if (!function) fail(fmt::format("one without the function {}", kAxleParquetFunction));
  const AxleParquetAdapter* const adapter = function();
  if (adapter->version != kAxleParquetVersion)
    fail(fmt::format("version {} of it, not {}", adapter->version, kAxleParquetVersion));
  return *adapter;
}

}  // namespace

std::optional<fs::path> find_parquet_adapter() {
  if (const std::string named = environment_variable(kVariable); !named.empty()) {
    const fs::path file = fs::path(named) / kParquetAdapterFile;
    if (is_file(file)) return file;
    throw DataError(fmt::format("{}: expected a folder with {}, got '{}'; `./dev parquet` makes it",
                                kVariable, kParquetAdapterFile, named));
  }
  for (const fs::path& folder : own_folders("parquet")) {
    if (is_file(folder / kParquetAdapterFile)) return folder / kParquetAdapterFile;
  }
  return std::nullopt;
}

const AxleParquetAdapter& parquet_adapter(const std::string& what_for) {
  static std::mutex mutex;
  static std::map<fs::path, const AxleParquetAdapter*> loaded;
  const std::lock_guard lock(mutex);
  const auto file = find_parquet_adapter();
  if (!file) {
    throw DataError(fmt::format(
        "{}: expected {}, with which Arrow's library reads Parquet, got none; `./dev parquet` "
        "fetches it into .axle/parquet, and {} names another folder",
        what_for, kParquetAdapterFile, kVariable));
  }
  // What the variable names counts, also after another library was used.
  const AxleParquetAdapter*& own = loaded[*file];
  if (!own) own = &load(*file);
  return *own;
}

}  // namespace axle
