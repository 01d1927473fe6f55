// Text from token ids as they come, one at a time, never half a character.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizers/tokenizer.h"

namespace axle {

/// All pushed pieces and finish() together are Tokenizer::decode of the ids.
///
/// To continue a prompt, push the prompt's ids first and drop what they return: what the first new
/// id means can depend on them.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  /// The text that this id completes; empty while a character is still cut.
  std::string push(int32_t id);
  /// The end of the text: a character that was never completed comes out as U+FFFD, one per byte.
  std::string finish();

 private:
  std::string take(bool at_end);

  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_ = true;
};

}  // namespace axle
