// Models of other programs, whatever their format.
#pragma once

#include <filesystem>
#include <functional>
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
/// True for a model of another program and for the folder of a run or an import.
bool holds_model(const std::filesystem::path& path);
/// Throws ConfigError, which names the model, for a folder around one, and for one of a hub's
/// cache.
void check_no_model_inside(const std::filesystem::path& folder);
/// Throws ConfigError for a path that holds no model, with what to name in place of it.
[[noreturn]] void fail_no_model(const std::filesystem::path& path);
/// Returns the text of a config.json that names the family of the model at `path`: the one that its
/// folder has, also a run or an import (keep_origin); that of the model that adapters belong to; of
/// a GGUF file, `model_type` alone. Empty if nothing names one. Throws DataError for a GGUF file
/// that is malformed.
std::string origin_config(const std::filesystem::path& path);
/// Writes it into the folder of a run that begins with the model at `path`, unless there is none or
/// the folder has one. Calls will_make() with the new file before it is there. Throws as
/// origin_config() does, and StorageError.
void keep_origin(const std::filesystem::path& path, const std::filesystem::path& dir,
                 const std::function<void(const std::filesystem::path&)>& will_make);
/// Reads a folder of Hugging Face (hugging_face.h), adapters with their base (peft_adapters.h), a
/// GGUF file (gguf_model.h), or weights of llama2.c (llama2c.h), which need a tokenizer. The
/// tokenizer's config names its file by its full path. Throws as these do; DataError if the
/// tokenizer does not fit the model.
ModelToSave read_foreign_model(const std::filesystem::path& path,
                               const ForeignOptions& options = {});

}  // namespace axle
