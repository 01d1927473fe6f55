// The tensors of a GGUF file, as Hugging Face names and stores them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interop/foreign/tensor_source.h"
#include "interop/gguf/gguf_names.h"
#include "io/gguf/gguf_file.h"

namespace axle {

/// Tensors that no row names, and those of more experts than there are, keep their names.
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
  struct Place {
    std::string name;  // in the file
    TensorChange change = TensorChange::kNone;
    std::optional<int64_t> expert = {};  // a row of the first dim
  };
  const Place& place(const std::string& name) const;

  const GgufFile& file_;
  GgufNames names_;
  int64_t head_dim_;
  std::string where_;
  std::map<std::string, Place> places_;  // by the name of Hugging Face
};

}  // namespace axle
