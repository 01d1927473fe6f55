// Maps names of tensors between GGUF files and Hugging Face files, both ways.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/gguf_value.h"
#include "ir/host_tensor.h"

namespace axle {

/// How the tensor of a GGUF file differs from the one of Hugging Face.
enum class TensorChange {
  kNone,
  /// The rows of each head are in another order: a pair that RoPE rotates lies side by side, and
  /// not in both halves.
  kNeighbouringPairs,
  /// The transpose, but of a vector.
  kTransposed,
  /// Each element is larger by 1: the scale of a norm.
  kOneAdded
};

struct GgufName {
  /// Without ".weight" or ".bias": "blk.{layer}.attn_q". {layer} stands for a number.
  std::string_view gguf;
  /// "model.layers.{layer}.self_attn.q_proj". If it has {expert}, it is one expert of the tensor,
  /// whose first dim is that of the experts.
  std::string_view foreign;
  TensorChange change = TensorChange::kNone;
};

class GgufNames {
 public:
  explicit GgufNames(const std::vector<GgufName>& rows);

  struct Foreign {
    /// {expert} stands for a number.
    std::string name;
    TensorChange change;
  };
  /// Returns none for a tensor that no row names.
  std::optional<Foreign> foreign(const std::string& gguf) const;
  std::optional<std::string> gguf(const std::string& foreign) const;

 private:
  std::map<std::string, GgufName, std::less<>> by_gguf_, by_foreign_;
};

/// Whether a tensor of this shape can be changed so: one that can't is of a wrong shape. `head_dim`
/// is the number of rows of a head.
bool can_change(TensorChange change, const Shape& shape, int64_t head_dim);
/// Returns the shape there; the change is its own opposite.
Shape changed(TensorChange change, Shape shape);
/// Returns the tensor of a GGUF file as Hugging Face stores it.
HostTensor from_gguf(TensorChange change, HostTensor tensor, int64_t head_dim);
/// Returns the tensor of Hugging Face as a GGUF file stores it.
HostTensor to_gguf(TensorChange change, HostTensor tensor, int64_t head_dim);

/// Tensors that no row names, and tensors of more experts than there are, keep their names.
class GgufTensors final : public TensorSource {
 public:
  struct Sizes {
    int64_t head_dim = 0;  // the rows of a head (kNeighbouringPairs)
    int64_t num_experts = 0;
  };
  /// `file` must outlive this. `left_out` names tensors of the file that are not wanted.
  GgufTensors(const GgufFile& file, const std::vector<GgufName>& rows, const Sizes& sizes,
              const std::set<std::string>& left_out);

  std::vector<std::string> names() const override;
  Type type(const std::string& name) const override;
  /// Blocks are dequantised, to f32.
  HostTensor get(const std::string& name) const override;
  bool reads_parts(const std::string& name) const override;
  void read_part(const std::string& name, int64_t first, HostTensor& part) const override;
  std::optional<CodeScheme> scheme(const std::string& name) const override;
  StoredCodes codes(const std::string& name) const override;
  std::string name_in_file(const std::string& name) const override;
  const std::string& where() const override { return where_; }

 private:
  struct TensorInFile {
    std::string name;  // in the file
    TensorChange change = TensorChange::kNone;
    std::optional<int64_t> expert = {};  // a row of the first dim
  };
  const TensorInFile& in_file(const std::string& name) const;

  const GgufFile& file_;
  GgufNames names_;
  int64_t head_dim_;
  std::string where_;
  std::map<std::string, TensorInFile> tensors_;  // by the name of Hugging Face
};

struct GgufToWrite {
  /// The fields of a config.json.
  nlohmann::ordered_json fields;
  /// The type of matrices: F32, F16, BF16 or Q8_0. As in llama.cpp, vectors, routers and learned
  /// positions are F32, and matrices whose rows are no whole blocks F16.
  std::string type = "F16";
  /// Further keys: the tokenizer's.
  GgufMetadata further = {};
};

/// Writes a model with these tensors, which have the names of Hugging Face. Throws ConfigError for
/// a model that GGUF has no keys for, or that llama.cpp computes otherwise; as save_gguf() does.
void write_gguf(const std::filesystem::path& file, const GgufToWrite& model,
                const TensorSource& tensors);

}  // namespace axle
