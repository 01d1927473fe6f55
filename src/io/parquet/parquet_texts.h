// The texts of a column of a Parquet file, or its rows as JSON, one row at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/parquet/adapter.h"

namespace axle {

inline constexpr const char* kParquetAdapterFile = "libaxle_parquet.so";

/// Returns the adapter's file: in the folder that AXLE_ARROW names, or else in
/// own_folders("parquet"); none if it is not there. Throws DataError if AXLE_ARROW names a folder
/// without it.
std::optional<std::filesystem::path> find_parquet_adapter();

/// Returns the loaded adapter. Throws DataError "<what for>: ..." with what to do if there is none,
/// or one that can't be used.
const AxleParquetAdapter& parquet_adapter(const std::string& what_for);

/// A Parquet file without the columns that are asked for, or with other values in them.
struct NoTextColumn : DataError {
  using DataError::DataError;
};

/// Memory: a page of the columns and their dictionaries, at most kMaxPageBytes for any file;
/// of rows as JSON also 64 of these.
class ParquetTexts {
 public:
  static constexpr int64_t kMaxPageBytes = int64_t{512} << 20;

  /// `column` is the name of a column, or the dotted path to one in a struct. Throws DataError as
  /// parquet_adapter() does, StorageError for a file that can't be read or is damaged, NoTextColumn
  /// with the columns that are there.
  ParquetTexts(const std::string& path, const std::string& column);
  /// The text of a row is a JSON object of those of the columns that the file has, of any
  /// type: lists and structs as well. Throws as above; NoTextColumn if it has none of them.
  ParquetTexts(const std::string& path, std::span<const std::string_view> columns);
  ~ParquetTexts();
  ParquetTexts(const ParquetTexts&) = delete;
  ParquetTexts& operator=(const ParquetTexts&) = delete;

  /// A row without a text (null) has none. The text is valid until the next call.
  struct Row {
    std::optional<std::string_view> text;
  };
  /// Returns the next row; none behind the last one. Throws StorageError for a damaged file.
  std::optional<Row> next();
  /// Returns the number of the row returned last, from 1.
  int64_t number() const { return number_; }

 private:
  [[noreturn]] void fail(const AxleParquetProblem& problem) const;

  std::string path_;
  const AxleParquetAdapter& adapter_;
  void* file_ = nullptr;
  std::span<const AxleParquetText> rows_ = {};  // that are not returned yet
  int64_t number_ = 0;
};

}  // namespace axle
