#include "data/tokenizers/parts/unigram_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

// An unknown character is so much less likely than the least likely token.
constexpr double kUnknownPenalty = 10;

}  // namespace

// Bytes of the piece that become one token, or unknown text.
struct UnigramModel::Part {
  uint32_t size;
  int32_t id;
};

// The best way that ends at a byte of the piece: its last token, as a size in bytes. A long text
// has a node for each byte, so that small ones are faster.
template <class Score>
struct UnigramModel::Node {
  Score score = 0;
  uint32_t size = 0;
  int32_t id = -1;  // -1: no way ends here
};
template <>
struct UnigramModel::Node<float> {
  float score = 0;
  float lead = std::numeric_limits<float>::infinity();  // over the next best way
  uint32_t size = 0;
  int32_t id = -1;
};

// The best way through a piece.
template <class Score>
struct UnigramModel::Way {
  std::vector<Node<Score>> nodes = {};
  std::vector<Part> parts = {};  // from the last to the first
  Score score = 0;
  // The least by which a part of it is ahead of the next best way to its end.
  Score lead = std::numeric_limits<Score>::infinity();
};

// The ids of a text, part by part. Neighbouring unknown parts are one.
class UnigramModel::Output {
 public:
  Output(const UnigramModel& model, std::string_view text, std::vector<int32_t>& ids)
      : model_(model), text_(text), ids_(ids) {}

  void add_known(std::span<const int32_t> ids, size_t end) {
    end_unknown();
    for (const int32_t id : ids) ids_.push_back(id);
    begin_ = end_ = end;
  }
  // Adds parts that lie in the text from `offset` on. Returns true if all of them are known.
  bool add(const std::vector<Part>& parts, size_t offset) {
    bool all_known = true;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      offset += part->size;
      if (model_.is_unknown(part->id)) {
        end_ = offset;
        all_known = false;
      } else {
        add_known({&part->id, 1}, offset);
      }
    }
    return all_known;
  }
  void end_unknown() {
    if (begin_ < end_) model_.add_unknown(text_.substr(begin_, end_ - begin_), ids_);
    begin_ = end_;
  }

 private:
  const UnigramModel& model_;
  std::string_view text_;
  std::vector<int32_t>& ids_;
  size_t begin_ = 0, end_ = 0;  // of unknown text that may go on
};

UnigramModel::UnigramModel(Vocabulary vocabulary, std::vector<double> scores, Options options)
    : TokenModel(std::move(vocabulary)), scores_(std::move(scores)), options_(options) {
  std::optional<double> least;
  std::vector<ByteTrie::Entry> entries;
  for (int64_t id = 0; id < vocabulary_.end_id(); ++id) {
    const std::string* const token = vocabulary_.token(id);
    const double score = scores_[id];
    if (std::isnan(score)) continue;
    if (token && !token->empty()) entries.push_back({*token, static_cast<int32_t>(id)});
    least = std::min(score, least.value_or(score));
  }
  for (const ByteTrie::Entry& entry : entries) pairs_.add_all(entry.text);
  trie_ = ByteTrie(std::move(entries));
  unknown_score_ = options_.unknown_score.value_or(least.value_or(0) - kUnknownPenalty);
  largest_score_ = std::abs(unknown_score_);
  for (const double score : scores_) largest_score_ = std::fmax(largest_score_, std::abs(score));
  cuts_ = options_.sums == ScoreSums::kF32;
  for (int byte = 0; byte < 256; ++byte)
    fallback_.push_back(vocabulary_.find(byte_token(static_cast<uint8_t>(byte))).value_or(-1));
}

void UnigramModel::encode(std::string_view piece, Scratch* scratch,
                          std::vector<int32_t>& ids) const {
  if (cuts_) return encode_in_stretches(piece, scratch, ids);
  encode_cached(scratch, piece, ids, [this](std::string_view text, std::vector<int32_t>& out) {
    encode_whole(text, out);
  });
}

void UnigramModel::encode_whole(std::string_view piece, std::vector<int32_t>& ids) const {
  Way<double> way;
  find_way<double>(piece, 0, way);
  Output out(*this, piece, ids);
  out.add(way.parts, 0);
  out.end_unknown();
}

// Sums of the whole text are rounded to f32, as in SentencePiece's library. So the ids of a stretch
// may depend on the sum before it, but only where another way is nearly as good: ids that are
// cached hold if the sum is small enough for their lead.
void UnigramModel::encode_in_stretches(std::string_view text, Scratch* scratch,
                                       std::vector<int32_t>& ids) const {
  auto* const lease = static_cast<PieceCaches::Lease*>(scratch);
  ids.reserve(ids.size() + text.size() / 4);
  Output out(*this, text, ids);
  Way<float> way;
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = pairs_.end_of_stretch(text, begin);
    const std::string_view stretch = text.substr(begin, end - begin);
    if (stretch.size() == character_size(stretch[0])) {
      if (const int32_t id = trie_.value(stretch); id >= 0) {
        out.add_known({&id, 1}, end);
        way.score = after(way.score, {&id, 1});
        continue;
      }
    }
    const bool may_be_known = lease && stretch.size() <= PieceCache::kMaxBytes;
    const uint64_t hash = may_be_known ? xxh3_64(stretch) : 0;
    if (may_be_known) {
      const PieceCache::Entry* const known = lease->cache().find(stretch, hash);
      if (known && std::abs(way.score) < known->note) {
        out.add_known(known->ids(), end);
        way.score = after(way.score, known->ids());
        continue;
      }
    }
    const float before = way.score;
    find_way(stretch, before, way);
    if (!is_unknown(way.parts.back().id)) out.end_unknown();
    const size_t first = ids.size();
    const bool all_known = out.add(way.parts, begin);
    const float most = most_before(stretch.size(), way.lead) - std::abs(before);
    if (may_be_known && all_known && most > 0)
      lease->cache().put(stretch, hash, std::span<const int32_t>(ids).subspan(first), most);
  }
  out.end_unknown();
}

// Returns the largest absolute sum before a stretch whose best way is sure to stay the best, if its
// lead was found without rounding. Each of at most `stretch_size` tokens of either way rounds by
// 2^-24 of the sum at most.
float UnigramModel::most_before(size_t stretch_size, float lead) const {
  const double num_roundings = static_cast<double>(stretch_size) + 2;
  return static_cast<float>(lead / (num_roundings * 0x1p-23) - 2 * num_roundings * largest_score_);
}

float UnigramModel::after(float before, std::span<const int32_t> ids) const {
  for (const int32_t id : ids) before = static_cast<float>(before + scores_[id]);
  return before;
}

// Sets the parts, the score and the lead of the way.
template <class Score>
void UnigramModel::find_way(std::string_view piece, Score before, Way<Score>& way) const {
  std::vector<Node<Score>>& nodes = way.nodes;
  nodes.assign(piece.size() + 1, {});
  nodes[0].score = before;
  constexpr bool kNotesLead = std::is_same_v<Score, float>;
  // The sum is rounded once the best way is known, as the library does.
  const auto reach = [&](size_t end, size_t size, int32_t id, double total) {
    Node<Score>& node = nodes[end];
    if constexpr (kNotesLead) {
      const auto ahead = static_cast<float>(total - node.score);
      if (node.id >= 0) node.lead = ahead > 0 ? ahead : std::min(node.lead, -ahead);
    }
    if (node.id >= 0 && total <= node.score) return;
    node.score = static_cast<Score>(total);
    node.size = static_cast<uint32_t>(size);
    node.id = id;
  };
  for (size_t at = 0; at < piece.size();) {
    const size_t size = std::min(character_size(piece[at]), piece.size() - at);
    const double sum = nodes[at].score;
    bool has_character = false;
    trie_.prefixes(piece.substr(at), [&](size_t length, int32_t id) {
      reach(at + length, length, id, sum + scores_[id]);
      has_character |= length == size;
    });
    if (!has_character) {
      if (!options_.unknown) {
        throw DataError(
            fmt::format("expected text of the characters of the vocabulary, got "
                        "'{}', and there is no unknown token",
                        printable(piece.substr(at, size))));
      }
      reach(at + size, size, *options_.unknown, static_cast<Score>(sum + unknown_score_));
    }
    at += size;
  }
  way.score = nodes.back().score;
  way.lead = std::numeric_limits<Score>::infinity();
  way.parts.clear();
  for (size_t end = piece.size(); end > 0;) {
    const Node<Score>& node = nodes[end];
    if constexpr (kNotesLead) way.lead = std::min(way.lead, node.lead);
    way.parts.push_back({node.size, node.id});
    end -= node.size;
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
