// Tensors of another program's model, read one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/code_scheme.h"
#include "ir/host_tensor.h"

namespace axle {

/// A matrix as codes: its parts by their names (parts_of). Neighbours in a row are a group.
struct StoredCodes {
  CodeScheme scheme;
  Tree<HostTensor> parts;  // [rows, columns / numbers of an element]
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
  /// Whether rows of this tensor can be read without the rest.
  virtual bool reads_parts(const std::string&) const { return false; }
  /// Fills `part`, which has the dtype of the tensor, with its elements from `first` on: whole rows
  /// of the tensor, or all of a vector. Threads may read at the same time. Throws as get() does.
  virtual void read_part(const std::string& name, int64_t first, HostTensor& part) const;
  /// Returns how a matrix is stored as codes, without reading it; none if it is stored otherwise.
  virtual std::optional<CodeScheme> scheme(const std::string&) const { return std::nullopt; }
  /// Returns the codes of a matrix that has a scheme, and reads each byte of it once.
  virtual StoredCodes codes(const std::string& name) const;
  /// Returns the name in the file, for messages; also of a tensor that is missing.
  virtual std::string name_in_file(const std::string& name) const { return name; }
  /// The file or folder, for messages.
  virtual const std::string& where() const = 0;
};

}  // namespace axle
