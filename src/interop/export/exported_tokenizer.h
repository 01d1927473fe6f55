// A tokenizer in the files of a folder of Hugging Face.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns the files by name: a tokenizer.json of Hugging Face or a SentencePiece model, of any
/// name, or another file of such a name, with the files beside it (tokenizer_files.h); a
/// tokenizer.json for bytes, and for the tokens of a GGUF file if one gives their ids.
/// `chat_template` takes the place of the tokenizer's own; empty: it keeps its own.
/// Empty if there is no such file for the tokenizer, or no tokenizer. Throws StorageError, and
/// DataError for a GGUF file that is damaged.
std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer,
                                                      const std::string& chat_template = {});

}  // namespace axle
