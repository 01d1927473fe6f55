// libaxle_parquet.so, loaded on first use: the program neither needs nor brings Arrow's library.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

}  // namespace axle
