// Writes the keys of a GGUF file that describe its model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "io/gguf/gguf_value.h"
#include "ir/host_tensor.h"

namespace axle {

/// What an architecture writes: keys "<architecture>.<name>", and tensors that belong to none of
/// Hugging Face.
class GgufKeyWriter {
 public:
  explicit GgufKeyWriter(std::string architecture);

  const std::string& architecture() const { return architecture_; }
  void size(std::string_view name, int64_t value);
  void number(std::string_view name, double value);
  void text(std::string_view name, const std::string& value);
  void flags(std::string_view name, const std::vector<bool>& values);
  /// An f32 vector.
  void tensor(const std::string& name, const std::vector<double>& values);

  const GgufMetadata& metadata() const { return metadata_; }
  const Tree<HostTensor>& tensors() const { return tensors_; }

 private:
  std::string key(std::string_view name) const;

  std::string architecture_;
  GgufMetadata metadata_;
  Tree<HostTensor> tensors_;
};

}  // namespace axle
