// The names of tensors in GGUF files and in those of Hugging Face, both ways.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// How the tensor of a GGUF file differs from the one of Hugging Face.
enum class TensorChange {
  kNone,
  /// The rows of each head are in another order: a pair that RoPE turns lies side by side, and not
  /// in both halves.
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

}  // namespace axle
