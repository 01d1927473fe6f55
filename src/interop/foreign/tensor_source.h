// Tensors of another program's model, read one by one.
#pragma once

#include <string>
#include <vector>

#include "ir/host_tensor.h"

namespace axle {

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
  /// Returns the name in the file, for messages; also of a tensor that is missing.
  virtual std::string name_in_file(const std::string& name) const { return name; }
  /// The file or folder, for messages.
  virtual const std::string& where() const = 0;
};

}  // namespace axle
