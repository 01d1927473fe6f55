// A tokenizer.json of byte-level merges in the keys of a GGUF file.
#pragma once

#include <string>

#include "data/tokenizers/tokenizer.h"
#include "io/gguf/gguf_value.h"

namespace axle {

/// Returns the keys of the file, whose tokenizer this is; empty if GGUF has no form for it: another
/// model than byte-level merges, other patterns than those that GGUF has names for, or ids of a
/// text that would differ. Throws DataError for a file that can't be read.
GgufMetadata gguf_keys_of_tokenizer_json(const std::string& path, const Tokenizer& tokenizer);

}  // namespace axle
