// Models in folders of Hugging Face and in files of GGUF.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "interop/foreign/weight_map.h"
#include "interop/foreign_model.h"
#include "interop/model_folder.h"

namespace axle {

inline constexpr std::string_view kHuggingFaceConfig = "config.json";

/// Returns the model that the folder holds, with its parameters, unless the options name another
/// dtype, in the one in which the files hold them; in f32 if they hold f16 or several dtypes.
///
/// Throws DataError for files that are missing or malformed, a family that is not known, and
/// weights that do not match the config (WeightMap::read); ConfigError for fields that Axle
/// does not know.
ImportedModel read_hugging_face(const std::filesystem::path& folder,
                                const ReadOptions& options = {});

/// Returns the dtype of a stored tensor; none if there is no such tensor.
using StoredDType = std::function<std::optional<DType>(const std::string& path)>;
/// Returns `specs`, parameters of `model` by their paths, with weights instead of codes that are
/// not stored: in the dtype in which they are, else in f32.
Tree<ParamSpec> with_plain_weights(const Layer& model, Tree<ParamSpec> specs,
                                   const StoredDType& stored);
/// Replaces the weights among `parameters` that `model` keeps as codes. Returns how many.
int64_t encode_weights(const Layer& model, Tree<HostTensor>& parameters);
/// Replaces all codes of a model by weights in f32, and its products by plain ones. Returns how
/// many weights those are.
int64_t decode_weights(LoadedModel& model);

/// The name of the tokenizer's file in the folder of an import (gguf_tokenizer_alone).
inline constexpr std::string_view kGgufTokenizerFile = "tokenizer.gguf";

/// Returns the model that the file holds. Unless the options name another dtype, its parameters
/// are bf16 if all tensors are of that type or f32, as llama.cpp keeps norms, and f32 else: blocks
/// stand for numbers of more bits than bf16 has. The tokenizer is the file itself, if it has one.
///
/// Throws DataError for a file that is malformed, an architecture that is not known, and tensors
/// that do not match the keys; ConfigError for keys of the architecture that Axle
/// does not know.
ImportedModel read_gguf(const std::filesystem::path& path, const ReadOptions& options = {});

/// Returns the family of Hugging Face that holds the file's model: "phi3". Throws DataError as
/// above.
std::string gguf_family(const std::filesystem::path& path);

}  // namespace axle
