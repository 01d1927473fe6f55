// The tokenizer of a model in the keys of a GGUF file.
#pragma once

#include "config/fields/child.h"
#include "data/tokenizers/tokenizer.h"
#include "io/gguf/gguf_value.h"

namespace axle {

/// Returns the keys "tokenizer.*" of a tokenizer, and "general.*"
/// of the GGUF file that it comes from: of the tokenizer of a GGUF file, and of bytes. There are as
/// many tokens as the model has rows: `num_rows`. Empty for tokenizers that GGUF has no form for.
/// Throws DataError for a file that can't be read.
GgufMetadata gguf_tokenizer_keys(const Child<Tokenizer>& config, int64_t num_rows);

}  // namespace axle
