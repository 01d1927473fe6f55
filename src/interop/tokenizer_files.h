// The files of a tokenizer that lies beside a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns the tokenizer's file and, if the tokenizer reads them or its file has the name that it
/// has in such a folder, the files beside it that say how the tokenizer and the model are used:
/// special tokens, the chat template, the tokens that end a text.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path,
                                                   const Child<Tokenizer>& tokenizer);
/// Returns the names that the files beside a tokenizer's file may have; none for a file that has
/// not the name that it has in such a folder.
std::vector<std::string> names_beside(const std::filesystem::path& tokenizer);

/// Returns the bytes of one of these files for a copy. A GGUF file is copied without its weights.
std::string read_tokenizer_file(const std::filesystem::path& file);

}  // namespace axle
