// SentencePiece models encoded by the parts of other tokenizers, which take a fraction of the
// library's time: it puts all of a text into one queue of merges.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/parts/chars_map.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

/// Gives the ids of the library for valid UTF-8.
class SentencePieceParts {
 public:
  struct Spaces {
    bool put_before = true;  // a text
    bool join = true;        // to one, and drop them at the ends of a text
  };

  /// Returns none for models that only the library encodes: those of whole words or characters, and
  /// those with pieces that users defined or left unused. `model` has passed
  /// check_sentencepiece_model(), which returns `characters`.
  static std::unique_ptr<SentencePieceParts> of_model(std::string_view model,
                                                      std::optional<CharsMap> characters,
                                                      const std::string& path);
  std::vector<int32_t> encode(std::string_view text) const;

 private:
  SentencePieceParts(std::unique_ptr<TokenModel> model, std::optional<CharsMap> characters,
                     Spaces spaces)
      : model_(std::move(model)), characters_(std::move(characters)), spaces_(spaces) {}
  std::string normal(std::string_view text) const;
  CharsMap::Found first_of(std::string_view text) const;

  std::unique_ptr<TokenModel> model_;
  std::optional<CharsMap> characters_;
  Spaces spaces_;
};

}  // namespace axle
