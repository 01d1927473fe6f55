// A SentencePiece model in the keys of a GGUF file.
#pragma once

#include <string>

#include "io/gguf/gguf_value.h"

namespace axle {

/// Returns the pieces of the file; empty unless it merges pairs (BPE). Throws DataError for a file
/// that can't be read.
GgufMetadata gguf_keys_of_sentencepiece(const std::string& path);

}  // namespace axle
