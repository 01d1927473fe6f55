// Models of other programs, whatever their format.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "interop/imported_model.h"
#include "interop/save_model.h"

namespace axle {

/// How to read a model of another program.
struct ForeignOptions {
  /// The tokenizer file, of any kind that tokenizer_in_file() tells. Empty: the one beside the
  /// weights; if there is none, the model has no tokenizer. One that is named has to belong to the
  /// model (special_ids.h), unless ReadOptions::ignored names "tokenizer".
  std::filesystem::path tokenizer = {};
  ReadOptions read = {};
};

/// True for a path that holds a model of another program and says so: a folder of Hugging Face, a
/// folder of adapters, or a GGUF file. It can be read in place. False for the folder of a run or an
/// import.
bool is_foreign_model(const std::filesystem::path& path);
/// The config.json that describes the model at `path`, or the one that its adapters belong to.
/// There may be none.
std::filesystem::path foreign_config_file(const std::filesystem::path& path);
/// Reads a folder of Hugging Face (hugging_face.h), adapters with their base (peft_adapters.h), a
/// GGUF file (gguf_model.h), or weights of llama2.c (llama2c.h), which need a tokenizer. The
/// tokenizer's config names its file by its full path. Throws as these do; DataError if the
/// tokenizer does not fit the model.
ModelToSave read_foreign_model(const std::filesystem::path& path,
                               const ForeignOptions& options = {});

}  // namespace axle
