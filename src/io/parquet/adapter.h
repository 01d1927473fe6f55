// What libaxle_parquet.so provides to the program. Arrow's C++ library has no stable ABI, so the
// adapter (tools/parquet/adapter.cpp) is compiled beside it, with its headers, and offers these
// plain functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// A row: the text of a column, or JSON; null bytes: the row has none. Valid until the next call.
struct AxleParquetText {
  const char* bytes;
  int64_t size;
};

/// The message of a function that fails, cut to its capacity, with a zero at the end.
struct AxleParquetProblem {
  char* text;
  size_t capacity;
  int32_t is_of_column;  // 1: the file is good, but has no such column of texts
};

struct AxleParquetAdapter {
  uint32_t version;
  const char* library;  // "Arrow 26.0.1"
  /// Opens a column by its name, or by the dotted path to it. Takes at most `max_bytes` of memory
  /// for the pages of all files that are open. Returns null if it fails.
  void* (*open)(const char* path, const char* column, int64_t max_bytes,
                AxleParquetProblem* problem);
  /// Opens those columns that the file has among names between line ends. A row is a JSON object of
  /// them, of any type; of none of them, it fails. Memory: as open(), and 64 rows.
  void* (*open_records)(const char* path, const char* columns, int64_t max_bytes,
                        AxleParquetProblem* problem);
  /// Returns the number of the next rows, and the rows; 0 at the end, -1 if it fails.
  int64_t (*next)(void* file, const AxleParquetText** rows, AxleParquetProblem* problem);
  void (*close)(void* file);
};

/// The version of these declarations, which the program and the adapter share.
inline constexpr uint32_t kAxleParquetVersion = 2;
inline constexpr const char* kAxleParquetFunction = "axle_parquet_adapter";

/// The one function that the adapter exports.
const AxleParquetAdapter* axle_parquet_adapter();

}  // extern "C"
