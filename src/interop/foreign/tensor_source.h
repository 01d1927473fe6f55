// Tensors of another program's model, read one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/host_tensor.h"

namespace axle {

/// A matrix whose numbers are scale * code + offset, where `size` neighbours in a row share a scale
/// and an offset.
struct StoredGroups {
  HostTensor scales, offsets;  // f32[rows, columns / size]
  int64_t size = 1;
  int64_t bits = 8;                 // of a code
  DType scale_dtype = DType::kF32;  // holds those of its range exactly
};

/// Names are those of Hugging Face's files, whatever the format.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Returns the names, sorted.
  virtual std::vector<std::string> names() const = 0;
  /// Throws as get() does for a name that is not among names().
  virtual Type type(const std::string& name) const = 0;
  /// Throws StorageError or DataError for a tensor that cannot be read.
  virtual HostTensor get(const std::string& name) const = 0;
  /// Returns the groups of a matrix; none if its numbers are stored otherwise.
  virtual std::optional<StoredGroups> groups(const std::string&) const { return std::nullopt; }
  /// Returns the name in the file, for messages; also of a tensor that is missing.
  virtual std::string name_in_file(const std::string& name) const { return name; }
  /// The file or folder, for messages.
  virtual const std::string& where() const = 0;
};

}  // namespace axle
