// The config of a folder of adapters: what peft says of them beside their tensors.
//
// Source: the fields of LoraConfig of peft 0.21.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/regex.h"
#include "interop/foreign/foreign_config.h"

namespace axle {

inline constexpr std::string_view kPeftConfig = "adapter_config.json";

/// The fields of adapter_config.json.
struct PeftConfig {
  nlohmann::ordered_json json;
  ForeignConfig fields;
};
/// Throws DataError for a file that is not JSON, or no object.
PeftConfig read_peft_config(const std::filesystem::path& folder);

/// How the adapters are applied, all or those of modules whose names match a pattern.
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

}  // namespace axle
