// The manifest of a checkpoint: what was saved, where its bytes lie, and the checksums of all of
// them.
//
// A checkpoint is a folder: data files and manifest.json, which is written last. Data files are cut
// into chunks; each has a CRC-32C. Tensors lie in them row-major, little-endian, aligned to 64
// bytes. The manifest's own SHA-256 is taken over its text with zeros in place of the hash.
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

/// The checkpoint is whole, but of a version that this program does not know.
struct UnknownVersionError : StorageError {
  using StorageError::StorageError;
};

struct DataFile {
  std::string name;
  int64_t bytes = 0;
  std::vector<uint32_t> crc32c;  // of each chunk
};

struct StoredTensor {
  Type type;
  size_t file = 0;     // index into Manifest::files
  int64_t offset = 0;  // in that file
};

struct Manifest {
  int64_t step = 0;
  /// Small named texts beside the tensors: the position in the data, the config.
  Tree<std::string> metadata;
  int64_t chunk_bytes = kChunkBytes;
  std::vector<DataFile> files;
  Tree<StoredTensor> tensors;
};

/// The text of manifest.json.
std::string to_text(const Manifest& manifest);
/// Reads such a text. Throws StorageError naming `path` if any byte of it was changed or if it
/// describes what cannot be; UnknownVersionError for a version of the future.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& path);

}  // namespace axle
