// The config of a folder of adapters: what peft says of them beside their tensors.
//
// Source: the fields of LoraConfig of peft 0.21.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/regex.h"
#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
#include "io/safetensors.h"

namespace axle {

inline constexpr std::string_view kPeftConfig = "adapter_config.json";

/// The fields of adapter_config.json.
struct PeftConfig {
  nlohmann::ordered_json json;
  ForeignConfig fields;
};
/// Throws DataError for a file that is not JSON, or no object.
PeftConfig read_peft_config(const std::filesystem::path& folder);

/// How the adapters are applied, all of them or those of modules whose names match a pattern.
class PeftScaling {
 public:
  /// Throws DataError for a field that peft writes and whose value is of another kind than peft
  /// takes, and for what Axle's adapters can't do; ConfigError for fields that are not known.
  /// Fields in `ignored` may be anything.
  PeftScaling(const PeftConfig& config, const std::vector<std::string>& ignored);
  /// Returns the alpha of a LoraProduct, which divides by the rank. Throws DataError unless it is
  /// above 0.
  double alpha_of(const std::string& module, int64_t rank) const;
  double dropout() const { return dropout_; }
  /// Throws DataError "<file>: <field>: expected <expected>, got <the field>".
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const {
    config_.fail(key, expected);
  }

 private:
  ForeignConfig config_;
  std::optional<double> alpha_;
  std::vector<std::pair<Regex, double>> patterns_ = {};
  bool by_root_ = false;  // alpha / sqrt(rank)
  double dropout_ = 0;
};

inline constexpr std::string_view kPeftTensors = "adapter_model.safetensors";
/// What names in the file begin with: the model within the one with adapters.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

/// True for a matrix of an adapter, of any kind.
bool is_peft_adapter(std::string_view tensor);

/// All tensors of a folder but its adapters, by the names that the model has for them. They replace
/// the model's own.
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
