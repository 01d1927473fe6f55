#include "io/parquet/parquet_texts.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/folders.h"
#include "base/process_start.h"
#include "base/text/file_format.h"
#include "base/text/unicode.h"
#include "io/file_reader.h"

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
        "{}: expected the library that reads Parquet, got {}; `./dev parquet` makes it again",
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

namespace {

// The message of a call of the adapter.
struct Message {
  std::array<char, 1024> text = {};
  AxleParquetProblem problem = {text.data(), text.size(), 0};
};

// Says what the file is before it asks for the library: another one needs none.
const AxleParquetAdapter& adapter_for(const std::string& path) {
  const FileReader regular(path);  // opening anything else could wait for ever
  check_format<StorageError>(path, "a Parquet file", "Parquet", head_of(regular));
  return parquet_adapter(path);
}

}  // namespace

ParquetTexts::ParquetTexts(const std::string& path, const std::string& column)
    : path_(path), adapter_(adapter_for(path)) {
  Message message;
  file_ = adapter_.open(path.c_str(), column.c_str(), kMaxPageBytes, &message.problem);
  if (!file_) fail(message.problem);
}

ParquetTexts::ParquetTexts(const std::string& path, std::span<const std::string_view> columns)
    : path_(path), adapter_(adapter_for(path)) {
  std::string names;
  for (const std::string_view column : columns) {
    if (!names.empty()) names += '\n';
    names += column;
  }
  Message message;
  file_ = adapter_.open_records(path.c_str(), names.c_str(), kMaxPageBytes, &message.problem);
  if (!file_) fail(message.problem);
}

ParquetTexts::~ParquetTexts() { adapter_.close(file_); }

std::optional<ParquetTexts::Row> ParquetTexts::next() {
  if (rows_.empty()) {
    Message message;
    const AxleParquetText* rows = nullptr;
    const int64_t count = adapter_.next(file_, &rows, &message.problem);
    if (count < 0) fail(message.problem);
    if (count == 0) return std::nullopt;
    rows_ = {rows, static_cast<size_t>(count)};
  }
  const AxleParquetText& row = rows_.front();
  rows_ = rows_.subspan(1);
  ++number_;
  if (!row.bytes) return Row{};
  return Row{std::string_view(row.bytes, static_cast<size_t>(row.size))};
}

void ParquetTexts::fail(const AxleParquetProblem& problem) const {
  std::string_view text = problem.text;
  const std::string line = printable(text.substr(0, text.find('\n')), /*most=*/400);
  if (problem.is_of_column) throw NoTextColumn(fmt::format("{}: {}", path_, line));
  throw StorageError(
      fmt::format("{}: expected a Parquet file, got a damaged one: {}", path_, line));
}

}  // namespace axle
