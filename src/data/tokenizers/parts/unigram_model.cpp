#include "data/tokenizers/parts/unigram_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text/unicode.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

// An unknown character is so much less likely than the least likely token.
constexpr double kUnknownPenalty = 10;

// A part of the piece that becomes one token, or unknown text.
struct Part {
  size_t begin, end;
  int32_t id;
};

}  // namespace

// The best way that ends at a byte of the piece: its last token, of so many bytes. A long text has
// a node for each byte, so that small ones are faster.
template <class Score>
struct UnigramModel::Node {
  Score score = 0;
  uint32_t size = 0;
  int32_t id = -1;  // -1: no way ends here
};

UnigramModel::UnigramModel(Vocabulary vocabulary, std::vector<double> scores, Options options)
    : TokenModel(std::move(vocabulary)), scores_(std::move(scores)), options_(options) {
  std::optional<double> least;
  std::vector<ByteTrie::Entry> entries;
  for (int64_t id = 0; id < vocabulary_.end_id(); ++id) {
    const std::string* const token = vocabulary_.token(id);
    const double score = scores_[static_cast<size_t>(id)];
    if (std::isnan(score)) continue;
    if (token && !token->empty()) entries.push_back({*token, static_cast<int32_t>(id)});
    least = std::min(score, least.value_or(score));
  }
  trie_ = ByteTrie(std::move(entries));
  unknown_score_ = options_.unknown_score.value_or(least.value_or(0) - kUnknownPenalty);
  for (int byte = 0; byte < 256; ++byte)
    fallback_.push_back(vocabulary_.find(byte_token(static_cast<uint8_t>(byte))).value_or(-1));
}

void UnigramModel::encode_anew(std::string_view piece, std::vector<int32_t>& ids) const {
  if (options_.sums == ScoreSums::kF32)
    encode_with_sums<float>(piece, ids);
  else
    encode_with_sums<double>(piece, ids);
}

template <class Score>
void UnigramModel::encode_with_sums(std::string_view piece, std::vector<int32_t>& ids) const {
  std::vector<Node<Score>> nodes(piece.size() + 1);
  // The sum is rounded once the best way is known, as the library does.
  const auto reach = [&](size_t end, size_t size, int32_t id, double total) {
    Node<Score>& node = nodes[end];
    if (node.id >= 0 && total <= node.score) return;
    node = {static_cast<Score>(total), static_cast<uint32_t>(size), id};
  };
  for (size_t at = 0; at < piece.size();) {
    const size_t size = first_code_point(piece.substr(at)).size;
    const double before = nodes[at].score;
    bool has_character = false;
    trie_.prefixes(piece.substr(at), [&](size_t length, int32_t id) {
      reach(at + length, length, id, before + scores_[static_cast<size_t>(id)]);
      has_character |= length == size;
    });
    if (!has_character) {
      if (!options_.unknown) {
        throw DataError(
            fmt::format("expected text of the characters of the vocabulary, got "
                        "'{}', and there is no unknown token",
                        printable(piece.substr(at, size))));
      }
      reach(at + size, size, *options_.unknown, static_cast<Score>(before + unknown_score_));
    }
    at += size;
  }
  // From the end to the beginning; neighbouring unknown parts are one.
  std::vector<Part> parts;
  const auto is_unknown = [&](int32_t id) { return options_.unknown && id == *options_.unknown; };
  for (size_t end = piece.size(); end > 0;) {
    const auto [score, size, id] = nodes[end];
    if (is_unknown(id) && !parts.empty() && is_unknown(parts.back().id))
      parts.back().begin = end - size;
    else
      parts.push_back({end - size, end, id});
    end -= size;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (is_unknown(part->id))
      add_unknown(piece.substr(part->begin, part->end - part->begin), ids);
    else
      ids.push_back(part->id);
  }
}

void UnigramModel::add_unknown(std::string_view text, std::vector<int32_t>& ids) const {
  if (options_.uncovered == UncoveredText::kMayBeToken) {
    if (const std::optional<int32_t> id = vocabulary_.find(text)) return ids.push_back(*id);
  }
  const auto fallback = [&](char c) { return fallback_[static_cast<uint8_t>(c)]; };
  if (options_.byte_fallback &&
      std::ranges::all_of(text, [&](char c) { return fallback(c) >= 0; })) {
    for (const char c : text) ids.push_back(fallback(c));
    return;
  }
  ids.push_back(*options_.unknown);
}

}  // namespace axle
