// A tokenizer.json of byte-level merges in the keys of a GGUF file.
#pragma once

#include <string>

#include "io/gguf/gguf_value.h"

namespace axle {

/// Returns the tokens and merges of the file; empty if GGUF has no form for it: another model than
/// byte-level merges, other patterns than those that GGUF has names for, added tokens that take
/// spaces with them. Throws DataError for a file that can't be read.
GgufMetadata gguf_keys_of_tokenizer_json(const std::string& path);

}  // namespace axle
