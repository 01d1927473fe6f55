#include "io/parquet/parquet_texts.h"

#include <fmt/format.h>

#include <array>

#include "base/text/file_format.h"
#include "base/text/utf8.h"
#include "io/file_reader.h"
#include "io/parquet/parquet_library.h"

namespace axle {
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
