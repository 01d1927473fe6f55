// What the files of Hugging Face beside a SentencePiece model add to it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "data/tokenizers/chat_settings.h"
#include "data/tokenizers/parts/added_tokens.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

struct AddedPieces {
  /// Tokens that are found in text before the model sees it.
  AddedTokens tokens = {};
  /// Ids of the special tokens that the files name ("eos_token").
  std::set<int32_t> named = {};
  /// A space is put before the text alone, else before each part of it between added tokens.
  bool has_one_space = false;
  SpecialIds special_ids = {};
  /// Ids that stand before and behind a text.
  std::vector<int32_t> before = {}, behind = {};
  ChatSettings chat = {};
  int64_t num_ids = 0;
  /// What ids of texts depend on; empty if the files add nothing.
  std::string hashed = {};
};

/// The model without the files.
struct BarePieces {
  int64_t num_pieces = 0;
  SpecialIds special_ids = {};
  /// Returns the id of a piece.
  std::function<std::optional<int32_t>(const std::string&)> find = {};
  /// The control pieces, by id.
  std::vector<AddedToken> controls = {};
  bool is_control(int32_t id) const;
};

/// Reads added_tokens.json, special_tokens_map.json, tokenizer_config.json, generation_config.json
/// and chat_template.jinja beside `model`, as far as they are there, as LlamaTokenizer does.
/// Without a file that may name tokens, all control pieces are special tokens. Throws DataError.
AddedPieces added_pieces_beside(const std::string& model, const BarePieces& bare);

}  // namespace axle
