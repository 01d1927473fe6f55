// A tokenizer in the files of a folder of Hugging Face.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns the files by name: the tokenizer's own file with those beside it (tokenizer_files.h), if
/// it has the name that it has in such a folder; tokenizer.model for a SentencePiece model of any
/// name; a tokenizer.json for bytes, and for the tokens of a GGUF file if one gives their ids.
/// Empty if there is no such file for the tokenizer, or no tokenizer. Throws StorageError, and
/// DataError for a GGUF file that is damaged.
std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer);

}  // namespace axle
