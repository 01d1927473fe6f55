// Writes GGUF files, version 3.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "io/gguf/block_type.h"
#include "io/gguf/gguf_value.h"
#include "ir/host_tensor.h"

namespace axle {

/// A tensor to write.
struct GgufTensorToSave {
  std::string name;
  /// How to store it: "F32", "F16", "BF16", "Q8_0".
  std::string type;
  Shape shape;
  /// Called once, when the tensor's turn comes, so that a model need not be in memory as a whole.
  /// Returns f32, bf16 or f16 of this shape; what another type stores is rounded to it.
  std::function<HostTensor()> values;
};

/// Writes metadata and tensors in the order given and replaces `path` atomically; data are aligned
/// to what the key "general.alignment" says, else to 32 bytes. The same contents always yield the
/// same bytes. Throws StorageError if writing fails; DataError naming the tensor for a name that is
/// repeated, empty or of more than 63 bytes (the limit of llama.cpp), more than 4 dims, a type that
/// is not written, a last dim that is no multiple of a block, for numbers that the type
/// can't hold, and for values in blocks that are not finite. `path` is then as it was.
void save_gguf(const std::filesystem::path& path, const GgufMetadata& metadata,
               std::span<const GgufTensorToSave> tensors);
/// Returns the bytes of a file of metadata alone.
std::string gguf_without_tensors(const GgufMetadata& metadata);

}  // namespace axle
