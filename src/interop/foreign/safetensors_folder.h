// The weights of a Hugging Face folder: one safetensors file, or several with an index.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "interop/foreign/tensor_source.h"
#include "io/safetensors.h"

namespace axle {

/// "model.safetensors", or the files that "model.safetensors.index.json" names:
/// {"weight_map": {<tensor>: <file>}}.
class SafetensorsFolder final : public TensorSource {
 public:
  /// Opens all files. Throws DataError if there are none, for files of another format (pickle), an
  /// index that is not one, a tensor that is not in the file that the index names, or is in two
  /// files.
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  std::vector<std::string> names() const override;
  Type type(const std::string& name) const override { return file_of(name).type(name); }
  HostTensor get(const std::string& name) const override { return file_of(name).get(name); }
  const std::string& where() const override { return where_; }

 private:
  const SafetensorsFile& file_of(const std::string& name) const;
  void read_index(const std::filesystem::path& index);

  std::string where_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsFile*> file_of_;
};

}  // namespace axle
