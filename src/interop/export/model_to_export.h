// A model of a run in the words and the weights of a family of other programs.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "base/error.h"
#include "interop/families/family.h"
#include "interop/model_folder.h"

namespace axle {

/// Which model to write, and how.
struct ExportOptions {
  /// The folder of a run or an import, or a model of another program.
  std::filesystem::path run = {};
  /// Fields of the config of another program that are left out.
  std::vector<std::string> ignored = {};
  Weights weights = Weights::kTrained;
  /// The family; empty: that of the model that RUN comes from (origin_config), else, and if that
  /// one can't describe the model any more, which is reported, the first that fits.
  std::string family = {};
  /// The dtype of the tensors; none: that of the parameters, f32 if they have several.
  std::optional<DType> dtype = {};
};

/// What becomes of adapters: they are merged into the weights, or stay beside them, and the model
/// of the family has them.
enum class Adapted { kMerged, kKept };

struct ModelToExport {
  /// Fields of a config.json, `torch_dtype` and special ids included. Ids that the model does not
  /// have are null.
  FamilyConfig described;
  /// The model of the family; with Adapted::kKept it has the adapters of the run.
  Child<Model> model;
  /// The parameters as `model` has them, without the leading "model/".
  Tree<HostTensor> parameters;
  /// Provides the tensors by their names: tensor(name, parameters, dtype).
  WeightMap weights;
  DType dtype = DType::kF32;
  /// Empty for a run on synthetic data.
  Child<Tokenizer> tokenizer_config;
  std::unique_ptr<Tokenizer> tokenizer;
  /// The chat template that the model was trained on; empty: none, or that of the tokenizer.
  std::string chat_template;
  /// Configs with an adapter.
  int64_t num_adapters = 0;
  /// With Adapted::kKept: the paths in `parameters` of those that the run has trained besides its
  /// adapters.
  std::set<std::string> also_trained;
  int64_t step = 0;
};

/// Loads the model and brings it into the form of its family. Takes no more memory than the
/// parameters, in f32 where adapters are merged for a file of another dtype, and the largest
/// tensor. Throws as load_model() and described() do.
ModelToExport model_to_export(const ExportOptions& options, Adapted adapted,
                              const Report& report = report_to_stderr);

/// Returns the parameters that the learner of a run with adapters (LoraProduct) has trained besides
/// them, by their paths below the model that it trains ("decoder/output_norm/scale"). Of an import
/// of adapters it is what peft has kept whole beside them; empty for another import. Throws
/// ConfigError for a learner that can't be built.
std::set<std::string> also_trained(const LoadedModel& run, const std::string& where);

/// Replaces a model beside a frozen one by the part of it that is trained.
void take_trained_part(LoadedModel& loaded);
/// Replaces a model that only training needs by the part of it that decodes: the policy of a
/// PreferenceLM, the student of a Distillation, and the decoder of a MultiTokenLM, whose heads for
/// further tokens are reported as left out. Other models stay as they are. `where` names the model.
void take_decoding_part(LoadedModel& loaded, const std::string& where, const Report& report);

}  // namespace axle
