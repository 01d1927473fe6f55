// Writes the adapters of a run as `peft` loads them onto the model that they were trained for.
#pragma once

#include "interop/export/model_to_export.h"

namespace axle {

struct PeftExport {
  /// The family is that of the model without adapters.
  ExportOptions options = {};
  /// The folder to create.
  std::filesystem::path dir = {};
  /// What `base_model_name_or_path` says; empty: null, which loaders by that name can't follow.
  std::string base = {};
};

struct PeftReport {
  std::filesystem::path dir;
  std::string family;
  /// `num_saved`: modules without an adapter that are kept whole.
  int64_t num_modules = 0, num_saved = 0, num_parameters = 0;
};
/// "out: adapters of 14 modules of a llama, 2 modules kept whole, 1,234 parameters\n".
std::string to_text(const PeftReport& report);
nlohmann::ordered_json to_json(const PeftReport& report);

/// Writes adapter_config.json and adapter_model.safetensors. Where the family stores several
/// projections as one matrix, their adapters become one, of the sum of their ranks. Modules that
/// the run has trained besides are kept whole (`modules_to_save`). Throws as model_to_export();
/// ConfigError for a model without adapters, for adapters of experts, for layers of one stack with
/// different adapters, for trained parameters of experts and of modules with an adapter, and if
/// `dir` is not new or empty.
PeftReport export_peft(const PeftExport& request, const Report& report = report_to_stderr);

}  // namespace axle
