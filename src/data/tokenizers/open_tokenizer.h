// The tokenizer in a file of any kind.
#pragma once

#include <string>

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns the config of the class that reads the file, told by its first bytes: tokenizer.json,
/// ranks, Tekken, GGUF, SentencePiece or llama2.c. Throws DataError if the file is missing or of
/// another kind. `field` is the flag or the config path to set.
Child<Tokenizer> tokenizer_in_file(const std::string& path, std::string_view field);

/// Returns what to call a tokenizer in messages: "tokenizer.json (HuggingFaceTokenizer)", or its
/// class alone if it reads no file.
std::string tokenizer_name(const Child<Tokenizer>& tokenizer);

}  // namespace axle
