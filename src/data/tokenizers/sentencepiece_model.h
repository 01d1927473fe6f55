// Checks that the SentencePiece library leaves out when it loads a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/tokenizers/parts/chars_map.h"

namespace axle {

/// Throws DataError with `path` and the place if a piece has a score that is not finite, if a byte
/// piece does not have the name of a byte, or if the table of normalized characters points outside
/// itself. The library trusts these tables, and a damaged one makes it read beyond its memory. Does
/// not repeat the library's own checks. Returns the table of the normalizer, if there is one.
std::optional<CharsMap> check_sentencepiece_model(std::string_view model, const std::string& path);

}  // namespace axle
