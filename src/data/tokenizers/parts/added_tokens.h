// Tokens that are found in text before it is cut into pieces: special tokens, and tokens added to a
// vocabulary after it was trained.
#pragma once

#include <functional>
#include <set>
#include <span>

#include "data/tokenizers/parts/byte_trie.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

struct AddedToken {
  std::string text;
  int32_t id = 0;
  /// Stands for no text.
  bool special = false;
  /// Is found only where no letter or digit stands beside it.
  bool single_word = false;
  /// Takes the white space to its left and right.
  bool strip_left = false, strip_right = false;
  /// That to its right is only white space of ASCII.
  bool only_ascii = false;
  /// Is found in normalized text, by its own normalized form.
  bool normalized = false;
  /// What it is decoded as: `text`, or its normalized form.
  std::string shown = {};
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Throws DataError "<path>: ..." for a token that is found by more than kMaxTokenBytes.
  AddedTokens(std::vector<AddedToken> tokens, std::span<const Normalizer> normalizers,
              std::string_view path);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  /// Returns their ids in order.
  std::vector<int32_t> ids() const;
  /// Returns the first token of the id, or of the text; nullptr if there is none.
  const AddedToken* find(int32_t id) const;
  const AddedToken* find(std::string_view text) const;

  /// Calls token(id) and text(part) for the parts of `text` in order. `normalized` chooses the
  /// tokens; special tokens are text unless `with_special`.
  void cut(std::string_view text, bool normalized, bool with_special,
           const std::function<void(int32_t)>& on_token,
           const std::function<void(std::string_view)>& on_text) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<uint32_t> by_id_, by_text_;  // indices of tokens_
  ByteTrie raw_, normalized_;              // values are indices of tokens_
};

}  // namespace axle
