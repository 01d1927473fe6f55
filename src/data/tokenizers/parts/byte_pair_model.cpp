#include "data/tokenizers/parts/byte_pair_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_level.h"

namespace axle {
namespace {

// Pieces of up to this many symbols are merged without a queue.
constexpr size_t kFewSymbols = 32;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

// A symbol of a long piece. Those that were merged into others are unlinked from the list.
struct Symbol {
  int32_t id;
  int32_t previous, next;  // -1 at the ends
};

// Two neighbours that can be merged. Stale once one of them has changed.
struct Candidate {
  int32_t rank, left, left_id, right_id;
  bool operator<(const Candidate& other) const {  // the queue has the largest on top
    return rank > other.rank || (rank == other.rank && left > other.left);
  }
};

}  // namespace

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  if (2 * (num_merges_ + 1) > slots_.size()) {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 256 : 2 * slots_.size()));
    maybe_.assign(slots_.size() / 16, 0);
    num_merges_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != kFree)
        add(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
    }
  }
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  num_merges_ += slots_[at].key == kFree;
  const size_t bit = bit_of(key);
  maybe_[bit / 64] |= uint64_t{1} << bit % 64;
  slots_[at] = {key, merge};
}

std::optional<std::pair<std::string_view, std::string_view>> two_tokens(std::string_view merge) {
  const size_t space = merge.find(' ');
  if (space == merge.npos || merge.find(' ', space + 1) != merge.npos) return std::nullopt;
  return std::pair{merge.substr(0, space), merge.substr(space + 1)};
}

MergeTable merges_of_unions(const Vocabulary& vocabulary, std::span<const int32_t> ranks,
                            std::string_view path) {
  MergeTable out;
  const auto ranked = [&](std::string_view text) -> std::optional<int32_t> {
    const std::optional<int32_t> id = vocabulary.find(text);
    return id && ranks[*id] >= 0 ? id : std::nullopt;
  };
  for (int64_t id = 0; id < vocabulary.end_id(); ++id) {
    const int32_t rank = ranks[id];
    const std::string* const token = vocabulary.token(id);
    if (!token || rank < 0) continue;
    if (token->size() > kMaxTokenBytes) {
      throw DataError(fmt::format("{}: expected tokens of at most {} bytes, got {} for token {}",
                                  path, kMaxTokenBytes, token->size(), id));
    }
    const std::string_view text = *token;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = ranked(text.substr(0, cut));
      const auto right = left ? ranked(text.substr(cut)) : std::nullopt;
      if (right) out.add(*left, *right, {rank, static_cast<int32_t>(id)});
    }
  }
  return out;
}

std::vector<int32_t> ranks_of_scores(std::span<const float> scores,
                                     const std::function<bool(size_t)>& takes_part) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<int32_t> out(scores.size(), -1);
  int32_t rank = -1;
  std::optional<float> last;
  for (const size_t id : order) {
    if (last != scores[id]) ++rank;
    last = scores[id];
    if (takes_part(id)) out[id] = rank;
  }
  return out;
}

BytePairModel::BytePairModel(Vocabulary vocabulary, MergeTable merges, Options options)
    : TokenModel(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.symbols == Symbols::kByteLevel) {
    for (int64_t id = 0; id < vocabulary_.end_id(); ++id) {
      const std::string* const token = vocabulary_.token(id);
      auto bytes = token ? from_byte_level(*token) : std::nullopt;
      if (bytes) bytes_.add(*std::move(bytes), static_cast<int32_t>(id));
    }
  }
  words_are_apart_ = options_.symbols == Symbols::kCharacters && !options_.ignore_merges &&
                     options_.continuing_prefix.empty() && options_.end_suffix.empty() &&
                     vocabulary_.find(kMetaSpace);
  for (int64_t id = 0; words_are_apart_ && id < vocabulary_.end_id(); ++id) {
    const std::string* const token = vocabulary_.token(id);
    words_are_apart_ = !token || !has_inner_space(*token);
  }
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<char>(b);
    byte_ids_.push_back(lookup().find({&byte, 1}).value_or(-1));
    fallback_.push_back(vocabulary_.find(byte_token(static_cast<uint8_t>(b))).value_or(-1));
  }
  find_parts_of_unused();
}

// Once a token is made, all merges within it were the merges of its text alone, in their order: so
// its parts are the same in all texts.
void BytePairModel::find_parts_of_unused() {
  const auto text_of = [&](int32_t id) -> const std::string& { return *vocabulary_.token(id); };
  std::vector<int32_t> order = options_.unused;
  std::ranges::stable_sort(order, {}, [&](int32_t id) { return text_of(id).size(); });
  for (const int32_t id : order) {  // parts have theirs before
    std::vector<int32_t> parts;
    start_characters(text_of(id), parts);
    merge(parts, 0, id);
    if (parts.size() != 2) continue;  // a character, or no merge ever makes it
    cut_unused(parts, 0);
    parts_of_unused_.emplace(id, std::move(parts));
  }
}

void BytePairModel::cut_unused(std::vector<int32_t>& ids, size_t first) const {
  if (parts_of_unused_.empty()) return;
  std::vector<int32_t> out;
  for (size_t i = first; i < ids.size(); ++i) {
    const auto parts = parts_of_unused_.find(ids[i]);
    if (parts == parts_of_unused_.end())
      out.push_back(ids[i]);
    else
      out.insert(out.end(), parts->second.begin(), parts->second.end());
  }
  ids.resize(first);
  ids.insert(ids.end(), out.begin(), out.end());
}

void BytePairModel::encode(std::string_view piece, Scratch* scratch,
                           std::vector<int32_t>& ids) const {
  const auto uncached = [this](std::string_view text, std::vector<int32_t>& out) {
    encode_uncached(text, out);
  };
  // A word at a time: the same words come again.
  while (words_are_apart_) {
    size_t end = 0;
    while (piece.substr(end).starts_with(kMetaSpace)) end += kMetaSpace.size();
    end = piece.find(kMetaSpace, end);
    if (end == piece.npos) break;
    encode_cached(scratch, piece.substr(0, end), ids, uncached);
    piece.remove_prefix(end);
  }
  encode_cached(scratch, piece, ids, uncached);
}

void BytePairModel::encode_uncached(std::string_view piece, std::vector<int32_t>& ids) const {
  if (options_.ignore_merges) {
    if (const std::optional<int32_t> id = lookup().find(piece)) return ids.push_back(*id);
  }
  const size_t first = ids.size();
  if (options_.symbols == Symbols::kCharacters)
    start_characters(piece, ids);
  else
    start_bytes(piece, ids);
  merge(ids, first);
  cut_unused(ids, first);
}

void BytePairModel::merge(std::vector<int32_t>& ids, size_t first, int32_t last) const {
  if (ids.size() - first <= kFewSymbols)
    merge_few(ids, first, last);
  else
    merge_many(ids, first, last);
}

void BytePairModel::start_bytes(std::string_view piece, std::vector<int32_t>& symbols) const {
  bool was_unknown = false;
  for (const char c : piece) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    const bool is_unknown = id < 0;
    if (!is_unknown) {
      symbols.push_back(id);
    } else if (options_.unknown && !(was_unknown && options_.fuse_unknown)) {
      symbols.push_back(*options_.unknown);
    }
    was_unknown = is_unknown;
  }
}

void BytePairModel::start_characters(std::string_view piece, std::vector<int32_t>& symbols) const {
  bool is_pending = false;  // an unknown character, which the next known one lets out
  const auto flush = [&] {
    if (is_pending) symbols.push_back(*options_.unknown);
    is_pending = false;
  };
  std::string decorated;
  for (size_t at = 0; at < piece.size();) {
    const size_t size = first_code_point(piece.substr(at)).size;
    std::string_view symbol = piece.substr(at, size);
    const bool is_first = at == 0, is_last = at + size == piece.size();
    const bool has_prefix = !is_first && !options_.continuing_prefix.empty();
    const bool has_suffix = is_last && !options_.end_suffix.empty();
    if (has_prefix || has_suffix) {
      decorated = has_prefix ? options_.continuing_prefix : std::string();
      decorated += symbol;
      if (has_suffix) decorated += options_.end_suffix;
      symbol = decorated;
    }
    at += size;
    if (const std::optional<int32_t> id = vocabulary_.find(symbol)) {
      flush();
      symbols.push_back(*id);
      continue;
    }
    const auto fallback = [&](char c) { return fallback_[static_cast<uint8_t>(c)]; };
    if (options_.byte_fallback &&
        std::ranges::all_of(symbol, [&](char c) { return fallback(c) >= 0; })) {
      for (const char c : symbol) symbols.push_back(fallback(c));
      continue;
    }
    if (!options_.unknown) continue;
    if (!options_.fuse_unknown) flush();
    is_pending = true;
  }
  flush();
}

void BytePairModel::merge_few(std::vector<int32_t>& ids, size_t first, int32_t last) const {
  size_t count = ids.size() - first;
  if (count < 2) return;
  int32_t* const symbols = ids.data() + first;
  MergeTable::Merge merges[kFewSymbols];  // of each symbol with the next one
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge* const merge = merges_.find(symbols[i], symbols[i + 1]);
    merges[i] = merge ? *merge : MergeTable::Merge{kNoRank, -1};
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].id < 0 || merges[best].id == last) break;
    symbols[best] = merges[best].id;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    std::copy(merges + best + 1, merges + count - 1, merges + best);
    --count;
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  ids.resize(first + count);
}

void BytePairModel::merge_many(std::vector<int32_t>& ids, size_t first, int32_t last) const {
  std::vector<Symbol> symbols;
  symbols.reserve(ids.size() - first);
  for (size_t i = first; i < ids.size(); ++i) {
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({ids[i], index - 1, index + 1});
  }
  symbols.back().next = -1;
  const auto at = [&](int32_t index) -> Symbol& { return symbols[index]; };

  std::priority_queue<Candidate> candidates;
  const auto propose = [&](int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    const int32_t left_id = at(left).id, right_id = at(at(left).next).id;
    if (const MergeTable::Merge* const merge = merges_.find(left_id, right_id))
      candidates.push({merge->rank, left, left_id, right_id});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) propose(static_cast<int32_t>(i));
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = at(best.left);
    if (left.id != best.left_id || left.next < 0 || at(left.next).id != best.right_id) continue;
    Symbol& right = at(left.next);
    const int32_t made = merges_.find(best.left_id, best.right_id)->id;
    if (made == last) break;
    left.id = made;
    right.id = -1;  // dead: equals no id of a candidate
    left.next = right.next;
    if (right.next >= 0) at(right.next).previous = best.left;
    propose(left.previous);
    propose(best.left);
  }
  ids.resize(first);
  for (int32_t i = 0; i >= 0; i = at(i).next) ids.push_back(at(i).id);
}

}  // namespace axle
