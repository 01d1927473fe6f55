// What the models of tokenizers have in common: a vocabulary, and ids for a piece of text.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace axle {

/// Tokens with their ids, which need not be without gaps.
class Vocabulary {
 public:
  /// Larger ids can't be those of a file of at most 64 MiB.
  static constexpr int64_t kMaxId = (int64_t{1} << 24) - 1;

  /// Adds a token. If the token was added before, it gets the new id, and keeps the old one.
  void add(std::string token, int32_t id);
  std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Returns the token of the id; nullptr if it has none.
  const std::string* token(int64_t id) const;
  /// Returns the number of different tokens.
  int64_t num_tokens() const { return static_cast<int64_t>(ids_.size()); }
  /// Returns the largest id plus one.
  int64_t end_id() const { return static_cast<int64_t>(by_id_.size()); }

 private:
  std::deque<std::string> tokens_;  // stable addresses
  std::vector<const std::string*> by_id_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

/// Turns pieces of text into ids. Immutable after construction.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Memory of the calls for one text of so many bytes.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual std::unique_ptr<Scratch> make_scratch(size_t) const { return nullptr; }
  /// Appends the ids of a piece, which is valid UTF-8 and not empty. `scratch` may be nullptr.
  virtual void encode(std::string_view piece, Scratch* scratch,
                      std::vector<int32_t>& ids) const = 0;
  /// Returns the memory that encode() takes for each byte of a long piece: for its symbols, and for
  /// what may be made of them. Measured.
  virtual int64_t piece_bytes() const = 0;
  /// True if encode() cuts a piece at the symbols of its spaces.
  virtual bool cuts_words() const { return false; }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  Vocabulary vocabulary_;
};

/// Longer tokens are refused: the time that a text takes may grow with its longest token.
inline constexpr size_t kMaxTokenBytes = 1024;

/// U+2581 stands for a space in tokens.
inline constexpr std::string_view kMetaSpace = "\xe2\x96\x81";
/// True if the text has the symbol of a space behind another character.
bool has_inner_space(std::string_view text);

/// Returns "<0x0A>", the name that vocabularies with byte fallback give a byte.
std::string byte_token(uint8_t byte);
/// Returns the byte of such a name; none for other tokens.
std::optional<uint8_t> byte_of_token(std::string_view token);

}  // namespace axle
