// The tokenizer of a GGUF file in the files of Hugging Face.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace axle {

/// Returns tokenizer.json and tokenizer_config.json, with the chat template, by their names: they
/// give the ids that GgufTokenizer gives. Empty for tokens with scores that no tokenizer.json
/// merges in their order: those with equal scores, and user-defined ones where a space is put
/// before a text. Throws DataError as the tokenizer does.
std::map<std::string, std::string> gguf_tokenizer_json(const std::filesystem::path& file);

}  // namespace axle
