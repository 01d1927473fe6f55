// The tokenizer in a file of any kind.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// The names that a tokenizer's file has in a folder of Hugging Face, the first that is read first.
inline constexpr std::array<std::string_view, 3> kTokenizerNames = {
    "tokenizer.json", "tokenizer.model", "tekken.json"};

/// Returns the tokenizer in a folder of Hugging Face: tokenizer.json, else a SentencePiece model or
/// ranks, else Tekken. Empty if there is none.
std::filesystem::path find_tokenizer(const std::filesystem::path& folder);
/// Returns find_tokenizer() of a folder that has a tokenizer, else the path itself.
std::string tokenizer_path(const std::string& path);

/// Returns the config of the class that reads the file, recognised by its first bytes:
/// tokenizer.json, ranks, Tekken, GGUF, SentencePiece or llama2.c. A folder stands for what
/// find_tokenizer() finds in it. Throws DataError if the file is missing or of another kind.
/// `field` is the flag or the config path to set.
Child<Tokenizer> tokenizer_in_file(const std::string& path, std::string_view field);

/// Returns what to call a tokenizer in messages: "tokenizer.json (HuggingFaceTokenizer)", or its
/// class alone if it reads no file.
std::string tokenizer_name(const Child<Tokenizer>& tokenizer);

}  // namespace axle
