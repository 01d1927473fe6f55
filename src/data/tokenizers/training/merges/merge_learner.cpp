#include "data/tokenizers/training/merges/merge_learner.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace axle {
namespace {

uint64_t hash_of(int32_t left, int32_t right) {
  const uint64_t key = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  return key * 0x9e3779b97f4a7c15u >> 24;
}

}  // namespace

bool MergeLearner::Candidate::operator<(const Candidate& other) const {
  return std::tie(count, other.left, other.right) < std::tie(other.count, left, right);
}

void MergeLearner::Neighbours::add(int32_t id, uint32_t word, int64_t count) {
  const auto at = static_cast<size_t>(id);
  if (at >= rows.size()) rows.resize(at + 1);
  Row& row = rows[at];
  if (row.num_words == 0) ids.push_back(id);
  row.count += count;
  if (row.num_words > 0 && row.last_word == word) return;  // the pair comes in it again
  row.last_word = word;
  ++row.num_words;
  occurrences.push_back({id, word});
}

MergeLearner::MergeLearner(std::vector<std::string> tokens, Options options)
    : tokens_(std::move(tokens)), options_(std::move(options)), sizes_(tokens_.size(), 1) {
  for (size_t id = 0; id < tokens_.size(); ++id)
    ids_.emplace(tokens_[id], static_cast<int32_t>(id));
}

void MergeLearner::add(std::span<const int32_t> symbols, int64_t count) {
  words_.push_back({symbols_.size(), static_cast<uint32_t>(symbols.size()), count});
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
}

void MergeLearner::learn(const std::function<void(int64_t)>& report) {
  constexpr size_t kReportEvery = 64;
  count_pairs();
  while (std::ssize(tokens_) < options_.vocab_size && !queue_.empty()) {
    const Candidate best = queue_.top();
    queue_.pop();
    const Pair& pair = pairs_[best.pair];
    if (best.count != pair.count) {  // it has changed since it was put there
      push(best.pair);
      continue;
    }
    if (best.count < options_.min_count) break;
    merge(best.pair);
    if (report && merges_.size() % kReportEvery == 0) report(std::ssize(tokens_));
  }
}

int64_t MergeLearner::num_symbols() const {
  int64_t out = 0;
  for (const Word& word : words_) out += word.count * word.size;
  return out;
}

// Counts all pairs, then notes their words.
void MergeLearner::count_pairs() {
  struct Row {
    size_t num_words = 0;
    uint32_t last_word = UINT32_MAX;
    uint32_t* next = nullptr;
  };
  std::vector<Row> rows;  // by pair
  const auto for_each_pair = [&](auto&& f) {
    for (size_t w = 0; w < words_.size(); ++w) {
      const int32_t* const symbols = symbols_.data() + words_[w].begin;
      for (uint32_t i = 0; i + 1 < words_[w].size; ++i)
        f(pair_of(symbols[i], symbols[i + 1]), static_cast<uint32_t>(w));
    }
  };
  for_each_pair([&](uint32_t pair, uint32_t word) {
    if (pair >= rows.size()) rows.resize(pair + 1);
    pairs_[pair].count += words_[word].count;
    rows[pair].num_words += std::exchange(rows[pair].last_word, word) != word;
  });
  for (size_t pair = 0; pair < pairs_.size(); ++pair)
    rows[pair] = {.next = room_for(pairs_[pair], rows[pair].num_words).data()};
  for_each_pair([&](uint32_t pair, uint32_t word) {
    if (std::exchange(rows[pair].last_word, word) != word) *rows[pair].next++ = word;
  });
  for (size_t pair = 0; pair < pairs_.size(); ++pair) push(static_cast<uint32_t>(pair));
}

uint32_t MergeLearner::pair_of(int32_t left, int32_t right) {
  if (2 * (pairs_.size() + 1) > table_.size()) grow_table();
  for (size_t at = hash_of(left, right) & (table_.size() - 1);;
       at = (at + 1) & (table_.size() - 1)) {
    if (table_[at] == 0) {
      pairs_.push_back({.left = left, .right = right});
      return (table_[at] = static_cast<uint32_t>(pairs_.size())) - 1;
    }
    const Pair& pair = pairs_[table_[at] - 1];
    if (pair.left == left && pair.right == right) return table_[at] - 1;
  }
}

void MergeLearner::grow_table() {
  table_.assign(table_.empty() ? 1024 : 2 * table_.size(), 0);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    size_t at = hash_of(pairs_[i].left, pairs_[i].right) & (table_.size() - 1);
    while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<uint32_t>(i) + 1;
  }
}

// Returns room for more words of a pair, behind those that it has.
std::span<uint32_t> MergeLearner::room_for(Pair& pair, size_t num_words) {
  const size_t before = pair.words.size();
  auto* const words = static_cast<uint32_t*>(
      memory_.allocate((before + num_words) * sizeof(uint32_t), alignof(uint32_t)));
  std::ranges::copy(pair.words, words);
  pair.words = {words, before + num_words};
  return pair.words.subspan(before);
}

void MergeLearner::push(uint32_t pair) {
  const Pair& p = pairs_[pair];
  if (p.count > 0) queue_.push({p.count, p.left, p.right, pair});
}

void MergeLearner::merge(uint32_t best) {
  Pair& pair = pairs_[best];
  const int32_t left = pair.left, right = pair.right, id = token_of(pair);
  const std::span<uint32_t> words = std::exchange(pair.words, {});
  if (id < 0) {
    pair.count = 0;  // for good
    return;
  }
  if (!std::exchange(pair.is_merged, true)) merges_.push_back({left, right});
  for (const uint32_t word : words) merge_in(word, left, right, id);
  update(
      before_, [&](int32_t n) { return pair_of(n, left); },
      [&](int32_t n) { return pair_of(n, id); });
  update(
      after_, [&](int32_t n) { return pair_of(right, n); },
      [&](int32_t n) { return pair_of(id, n); });
  // All pairs have their counts now, those beside two merges, too.
  for (const int32_t n : std::exchange(before_.ids, {})) push(pair_of(n, id));
  for (const int32_t n : std::exchange(after_.ids, {})) push(pair_of(id, n));
  pairs_[best].count = 0;
}

// Returns the token of a merge, perhaps a new one; -1 if there may be none.
int32_t MergeLearner::token_of(const Pair& pair) {
  const auto left = static_cast<size_t>(pair.left), right = static_cast<size_t>(pair.right);
  const size_t size = sizes_[left] + sizes_[right];
  std::string text = tokens_[left] + tokens_[right];
  if (size > options_.max_symbols || options_.excluded.contains(text)) return -1;
  const auto [at, is_new] = ids_.emplace(std::move(text), static_cast<int32_t>(tokens_.size()));
  if (is_new) {
    tokens_.push_back(at->first);
    sizes_.push_back(size);
  }
  return at->second;
}

void MergeLearner::merge_in(uint32_t word, int32_t left, int32_t right, int32_t id) {
  Word& w = words_[word];
  int32_t* const symbols = symbols_.data() + w.begin;
  uint32_t size = 0;  // of what is written
  for (uint32_t i = 0; i < w.size; ++i) {
    if (symbols[i] != left || i + 1 == w.size || symbols[i + 1] != right) {
      symbols[size++] = symbols[i];
      continue;
    }
    if (size > 0) before_.add(symbols[size - 1], word, w.count);
    if (i + 2 < w.size) after_.add(symbols[i + 2], word, w.count);
    symbols[size++] = id;
    ++i;
  }
  w.size = size;
}

// Moves the counts of old pairs to new ones, and notes the words of those.
template <class OldPair, class NewPair>
void MergeLearner::update(Neighbours& neighbours, OldPair&& old_pair, NewPair&& new_pair) {
  for (const int32_t n : neighbours.ids) {
    Neighbours::Row& row = neighbours.rows[n];
    pairs_[old_pair(n)].count -= row.count;
    Pair& fresh = pairs_[new_pair(n)];
    fresh.count += row.count;
    row.next_word = room_for(fresh, row.num_words).data();
  }
  for (const auto& [n, word] : neighbours.occurrences) *neighbours.rows[n].next_word++ = word;
  for (const int32_t n : neighbours.ids) neighbours.rows[n] = {};
  neighbours.occurrences.clear();
}

namespace {

// The low bits of a hash choose the part.
size_t slot_of(uint64_t hash, size_t num_slots) { return (hash >> 16) & (num_slots - 1); }

}  // namespace

void PieceCounts::Part::add(std::string_view piece, uint64_t hash, int64_t count) {
  if (3 * (num_pieces + 1) > 2 * slots.size()) grow();
  for (size_t at = slot_of(hash, slots.size());; at = (at + 1) & (slots.size() - 1)) {
    Slot& slot = slots[at];
    if (slot.count == 0) {
      slot = {hash, texts.size(), count, static_cast<uint32_t>(piece.size())};
      texts += piece;
      ++num_pieces;
      return;
    }
    if (slot.hash == hash && text_of(slot) == piece) {
      slot.count += count;
      return;
    }
  }
}

void PieceCounts::Part::grow() {
  const std::vector<Slot> old =
      std::exchange(slots, std::vector<Slot>(slots.empty() ? 64 : 2 * slots.size()));
  for (const Slot& slot : old) {
    if (slot.count == 0) continue;
    size_t at = slot_of(slot.hash, slots.size());
    while (slots[at].count != 0) at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
}

void PieceCounts::add_part(const PieceCounts& other, size_t part) {
  const Part& from = other.parts_[part];
  for (const Slot& slot : from.slots)
    if (slot.count > 0) parts_[part].add(from.text_of(slot), slot.hash, slot.count);
}

int64_t PieceCounts::num_pieces() const {
  int64_t out = 0;
  for (const Part& part : parts_) out += static_cast<int64_t>(part.num_pieces);
  return out;
}

int64_t PieceCounts::num_bytes() const {
  int64_t out = 0;
  for (const Part& part : parts_) out += std::ssize(part.texts);
  return out;
}

}  // namespace axle
