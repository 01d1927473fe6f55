// The weights of a Hugging Face folder: one safetensors file, or several with an index.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
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

/// What `quantization_config` of a config.json says of matrices in f8e4m3fn.
struct Fp8Form {
  /// Numbers of a block that share a scale.
  int64_t rows, columns;
};
/// Returns the form; none if the config has no `quantization_config`. Throws DataError for weights
/// that are quantised in another way.
std::optional<Fp8Form> fp8_form_of(const ForeignConfig& config);

/// The tensors of `source`, with matrices in f8 as f32: each number times the scale of its block. A
/// matrix "x" [rows, columns] has its scales in "x_scale_inv" [blocks of rows, blocks of columns];
/// the last blocks may be smaller.
///
/// Source: DeepSeek-AI 2024, arXiv 2412.19437, section 3.3.2 (blocks of 128 x 128).
class Fp8Blocks final : public TensorSource {
 public:
  /// `source` must outlive this.
  Fp8Blocks(const TensorSource& source, Fp8Form form) : source_(source), form_(form) {}

  std::vector<std::string> names() const override;
  Type type(const std::string& name) const override;
  /// Throws DataError also for a matrix without scales, or with scales of another shape.
  HostTensor get(const std::string& name) const override;
  std::string name_in_file(const std::string& name) const override {
    return source_.name_in_file(name);
  }
  const std::string& where() const override { return source_.where(); }

 private:
  bool is_coded(const std::string& name) const;

  const TensorSource& source_;
  Fp8Form form_;
};

}  // namespace axle
