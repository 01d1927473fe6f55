// The checks that the SentencePiece library leaves out when it loads a model.
#pragma once

#include <string>
#include <string_view>

namespace axle {

/// The library believes the tables of a model: a damaged one makes it read beyond its memory.
/// Throws DataError naming `path` and the place unless its pieces have finite scores and byte
/// pieces the name of a byte, and its table of normalized characters leads nowhere but into itself.
/// What the library checks for itself is left to it.
void check_sentencepiece_model(std::string_view model, const std::string& path);

}  // namespace axle
