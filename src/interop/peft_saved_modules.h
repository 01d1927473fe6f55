// Modules that a folder of `peft` keeps whole beside its adapters (`modules_to_save`).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "interop/foreign/tensor_source.h"
#include "io/safetensors.h"

namespace axle {

inline constexpr std::string_view kPeftTensors = "adapter_model.safetensors";
/// What names in the file begin with: the model within the one with adapters.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

/// True for a matrix of an adapter, of any kind.
bool is_peft_adapter(std::string_view tensor);

/// All tensors of a folder but its adapters, by the names that the model has for them. They take
/// the place of the model's own.
class PeftSavedModules final : public TensorSource {
 public:
  /// Throws DataError for a folder without the file, and for a module of `modules_to_save` that the
  /// file lacks, unless `ignored` names that field; StorageError.
  PeftSavedModules(const std::filesystem::path& folder, const std::vector<std::string>& ignored);

  bool empty() const { return names_.empty(); }
  /// Whether a head that the model ties to its embedding stays so (`ensure_weight_tying`).
  /// Otherwise peft trains one of them alone, or both apart.
  bool ties_head() const { return ties_head_; }

  std::vector<std::string> names() const override { return names_; }
  Type type(const std::string& name) const override { return file_.type(name_in_file(name)); }
  HostTensor get(const std::string& name) const override { return file_.get(name_in_file(name)); }
  bool reads_parts(const std::string&) const override { return true; }
  void read_part(const std::string& name, int64_t first, HostTensor& part) const override {
    file_.read_part(name_in_file(name), first, part);
  }
  std::string name_in_file(const std::string& name) const override;
  const std::string& where() const override { return where_; }

 private:
  std::string where_;
  SafetensorsFile file_;
  std::vector<std::string> names_;
  bool ties_head_ = false;
};

}  // namespace axle
