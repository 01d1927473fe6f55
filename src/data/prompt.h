// The prompts of documents, for prefix language models: every token sees all of the prompt, and
// only the text after it is learned.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/axle_config.h"
#include "config/fields/ranged.h"

namespace axle {

/// Says which part of each document, from its beginning, is its prompt. A begin token belongs to
/// it.
struct Prompt {
  /// The text that ends the prompt, as its last part; documents without it have no prompt. None:
  /// `share` counts.
  std::optional<std::string> until = {};
  /// Share of the tokens of a document, rounded down.
  Fraction share = 0.5;
  AXLE_CONFIG(Prompt, until, share)

  /// Returns the number of bytes of the text's prompt; none: `share` counts.
  std::optional<size_t> bytes_of(std::string_view text) const;
  /// Returns the share of `num_tokens`.
  int64_t share_of(int64_t num_tokens) const;
};

}  // namespace axle
