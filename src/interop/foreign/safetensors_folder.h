// The weights of a Hugging Face folder: one safetensors file, or several with an index.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interop/foreign/tensor_source.h"
#include "io/safetensors.h"

namespace axle {

/// "model.safetensors", or the files that "model.safetensors.index.json" names:
/// {"weight_map": {<tensor>: <file>}}. Of both, the single file counts, as in transformers, unless
/// the index names it as one of several.
class SafetensorsFolder final : public TensorSource {
 public:
  /// Opens all files. Throws DataError if there are none, for files of another format (pickle), an
  /// index that is not one, a tensor that is not in the file that the index names, or is in two
  /// files, and for an index of other tensors than a single file beside it has.
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  std::vector<std::string> names() const override;
  Type type(const std::string& name) const override { return file_of(name).type(name); }
  HostTensor get(const std::string& name) const override { return file_of(name).get(name); }
  bool reads_parts(const std::string&) const override { return true; }
  void read_part(const std::string& name, int64_t first, HostTensor& part) const override {
    file_of(name).read_part(name, first, part);
  }
  const std::string& where() const override { return where_; }

 private:
  const SafetensorsFile& file_of(const std::string& name) const;
  void read_index(const std::filesystem::path& index);

  std::string where_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsFile*> file_of_;
};

/// Says what is in a folder that lacks the safetensors files of a model: a pickle and what to do
/// with it, else the names of some files.
std::string weights_there(const std::filesystem::path& folder);

/// The files of a folder of Hugging Face with the tensors of these types, in the order of their
/// numbers: "model.safetensors", or "model-00001-of-00003.safetensors" ... and the index. No file
/// has more than `max_bytes` of tensors, unless a single one has.
struct SafetensorsShards {
  std::vector<std::pair<std::string, Tree<Type>>> files;
  /// The text of "model.safetensors.index.json"; empty: there is one file.
  std::string index;

  /// The names of all files.
  std::vector<std::string> names() const;
};
SafetensorsShards shards_of(const Tree<Type>& types, int64_t max_bytes);
/// Writes the files. Throws as save_safetensors does.
void save_safetensors_folder(const std::filesystem::path& folder, const SafetensorsShards& shards,
                             const std::function<HostTensor(const std::string& name)>& tensor);

}  // namespace axle
