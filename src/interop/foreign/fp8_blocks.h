// Weights in 8-bit floats with a scale for each block of a matrix, as DeepSeek-V3 is published.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/tensor_source.h"

namespace axle {

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
