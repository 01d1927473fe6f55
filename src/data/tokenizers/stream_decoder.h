// Decodes token ids one at a time, without ever returning half a character.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizers/tokenizer.h"

namespace axle {

/// All results of push() and finish() joined equal Tokenizer::decode of the ids.
///
/// To continue a prompt, first push the ids of the prompt and drop the results: the text of the
/// first new id can depend on them.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  /// Returns the text that this id completes; empty while a character is incomplete.
  std::string push(int32_t id);
  /// Ends the text. An incomplete character becomes U+FFFD.
  std::string finish();

 private:
  std::string take(bool at_end);

  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_ = true;
};

}  // namespace axle
