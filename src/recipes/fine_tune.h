// Fine-tuning of a model that is there already, without a recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "interop/model_place.h"
#include "train/config/trainer_config.h"

namespace axle {

/// What is trained: all parameters, or adapters (Lora), which take a larger rate.
enum class FineTuned { kAll, kAdapters };

/// Returns a config that goes on training the model of a run, an import or another program, on text
/// of its tokenizer. Rows have the model's context, at most 512 positions; 8 are a batch. AdamW
/// without decay; the rate falls over 200 steps from 2e-5, for adapters from 2e-4. Parameters that
/// are trained are f32, frozen ones as they are stored; products are bf16 if the weights are. Of a
/// model that has adapters (LoraProduct), these alone are trained, and what its run has trained
/// beside them. With `dtype` all parameters but those of adapters have it, and so do products.
///
/// Throws ConfigError or DataError for a path that holds no model.
Trainer::Config fine_tune(const ModelPlace& model, FineTuned trained,
                          const std::optional<DType>& dtype = {});

/// Returns the name of the run that goes on training this model: "fine-tuned-llama".
std::string fine_tuned_name(const std::filesystem::path& model);

/// Gives the inputs of conversations that name no chat template the one that the run in the folder
/// `model` keeps (trained_chat_template_file), if it keeps one.
void take_chat_template(const std::filesystem::path& model, Trainer::Config& config);

}  // namespace axle
