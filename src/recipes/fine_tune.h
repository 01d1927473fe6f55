// Fine-tuning of a model that is there already, without a recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "interop/save_model.h"
#include "modifiers/preference_tuning.h"
#include "modifiers/products/product_modifiers.h"
#include "train/config/trainer_config.h"

namespace axle {

/// What is trained: all parameters, or adapters (Lora), which take a larger rate.
enum class FineTuned { kAll, kAdapters };

/// Returns a config that goes on training the model of a run, an import or another program, on text
/// of its tokenizer. Rows have the model's context, at most 512 positions; 8 are a batch. AdamW
/// without decay; the rate falls over 200 steps from 2e-5, for adapters from 2e-4. Parameters that
/// are trained are f32, frozen ones as they are stored; products are bf16 if the weights are. Of a
/// model that has adapters (LoraProduct), these alone are trained, and what its run has trained
/// beside them. With `dtype` all parameters except adapters have it, and so do products.
///
/// Throws ConfigError or DataError for a path that holds no model.
Trainer::Config fine_tune(const ModelPath& model, FineTuned trained,
                          const std::optional<DType>& dtype = {});

/// Returns the name of the run that goes on training this model: "fine-tuned-llama".
std::string fine_tuned_name(const std::filesystem::path& model);

/// For inputs of conversations that name no chat template: sets the one that the run in the folder
/// `model` keeps (trained_chat_template_file), if it keeps one.
void take_chat_template(const std::filesystem::path& model, Trainer::Config& config);

// What a run takes over from the model that it begins with, or from itself when it is resumed, and
// what no flag can change.

/// A modifier as a flag asks for it.
template <class Modifier>
struct FlagRequest {
  std::string flag;  // for messages
  typename Modifier::Config fields = {};
  std::vector<std::string> given = {};  // the fields that the flag names
};

/// Throws ConfigError where a flag asks for another rank, alpha or dropout than the adapters of
/// `start` have, which stay. `folder` is where they come from, for the message.
void check_adapters(Trainer::Config& start, const std::string& folder,
                    const FlagRequest<Lora>& wanted);
/// Throws ConfigError where --dtype asks for parameters of another dtype than in the run that
/// it is to resume.
void check_dtype(const Trainer::Config& run, const std::string& folder, DType wanted);
/// Throws ConfigError where a flag asks for another PreferenceLM than the one of the run that it is
/// to resume.
void check_preference(const Trainer::Config& run, const std::string& folder,
                      const FlagRequest<PreferenceTuning>& wanted);

}  // namespace axle
