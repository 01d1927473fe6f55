// The files of a tokenizer in a folder of Hugging Face.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns the files by name: those that lie beside the tokenizer's own file, if it came from such
/// a folder; tokenizer.model for a SentencePiece model of any name; a tokenizer.json for bytes.
/// Empty if there is no such file for the tokenizer, or no tokenizer. Throws StorageError.
std::map<std::string, std::string> tokenizer_files(const Child<Tokenizer>& tokenizer);

}  // namespace axle
