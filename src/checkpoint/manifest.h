// The manifest of a checkpoint: names, types and locations of the saved tensors, and checksums of
// all bytes.
//
// A checkpoint is a folder of data files and manifest.json, which is written last. Each data file
// is cut into chunks, and each chunk has a CRC-32C. Tensors are stored row-major, little-endian,
// aligned to 64 bytes. The manifest holds the SHA-256 of its own text, taken with zeros in place of
// the hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tree.h"
#include "ir/type.h"

namespace axle {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr int64_t kManifestVersion = 1;
inline constexpr int64_t kChunkBytes = 16 << 20;
inline constexpr int64_t kTensorAlignment = 64;
inline constexpr int64_t kMaxManifestBytes = int64_t{1} << 30;

/// Thrown for a whole checkpoint of a version that this program does not know.
struct UnknownVersionError : StorageError {
  using StorageError::StorageError;
};

/// One data file.
struct DataFile {
  std::string name;
  int64_t bytes = 0;
  std::vector<uint32_t> crc32c;  // one for each chunk
};

/// Type and location of one tensor.
struct StoredTensor {
  Type type;
  size_t file = 0;     // index into Manifest::files
  int64_t offset = 0;  // in bytes, within that file
};

struct Manifest {
  int64_t step = 0;
  /// Small named texts beside the tensors, such as the position in the data and the config.
  Tree<std::string> metadata;
  int64_t chunk_bytes = kChunkBytes;
  std::vector<DataFile> files;
  Tree<StoredTensor> tensors;
};

/// Returns the text of manifest.json.
std::string to_text(const Manifest& manifest);
/// Parses the text of manifest.json. Throws StorageError naming `path` if any byte of the text was
/// changed or if it describes something impossible; UnknownVersionError for an unknown version.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

}  // namespace axle
