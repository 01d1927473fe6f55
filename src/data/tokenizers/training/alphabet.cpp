#include "data/tokenizers/training/alphabet.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {
namespace {

constexpr int kNumBytes = 256;

class Bytes final : public SymbolTable {
 public:
  explicit Bytes(int32_t first_id) : ids_(kNumBytes) {
    for (int byte = 0; byte < kNumBytes; ++byte) {
      const auto c = static_cast<char>(byte);
      names_.push_back(to_byte_level({&c, 1}));
    }
    std::ranges::sort(names_);  // UTF-8 sorts as its characters do
    for (const std::string& name : names_)
      ids_[static_cast<uint8_t>((*from_byte_level(name))[0])] = first_id++;
  }
  std::vector<std::string> names() const override { return names_; }
  void append_ids(std::string_view piece, std::vector<int32_t>& ids) const override {
    for (const char c : piece) ids.push_back(ids_[static_cast<uint8_t>(c)]);
  }

 private:
  std::vector<std::string> names_;
  std::vector<int32_t> ids_;
};

class Characters final : public SymbolTable {
 public:
  Characters(int32_t first_id, const PieceCounts& pieces, double coverage) {
    std::unordered_map<char32_t, int64_t> counts;
    int64_t all = 0;
    pieces.for_each([&](std::string_view piece, int64_t count) {
      for_each_code_point(piece, [&](char32_t c) {
        counts[c] += count;
        all += count;
      });
    });
    std::vector<std::pair<char32_t, int64_t>> order(counts.begin(), counts.end());
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.second > b.second || (a.second == b.second && a.first < b.first);
    });
    int64_t covered = 0;
    for (const auto& [c, count] : order) {
      if (static_cast<double>(covered) >= coverage * static_cast<double>(all)) break;
      covered += count;
      characters_.push_back(c);
    }
    std::ranges::sort(characters_);
    first_id += kNumBytes;
    for (const char32_t c : characters_) ids_.emplace(c, first_id++);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (int byte = 0; byte < kNumBytes; ++byte)
      out.push_back(byte_token(static_cast<uint8_t>(byte)));
    for (const char32_t c : characters_) append_utf8(out.emplace_back(), c);
    return out;
  }
  void append_ids(std::string_view piece, std::vector<int32_t>& ids) const override {
    for_each_code_point(piece, [&](char32_t c) {
      const auto found = ids_.find(c);
      ids.push_back(found == ids_.end() ? -1 : found->second);
    });
  }

 private:
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, int32_t> ids_;
};

}  // namespace

std::unique_ptr<SymbolTable> byte_symbols(int32_t first_id) {
  return std::make_unique<Bytes>(first_id);
}

std::unique_ptr<SymbolTable> character_symbols(int32_t first_id, const PieceCounts& pieces,
                                               double coverage) {
  return std::make_unique<Characters>(first_id, pieces, coverage);
}

}  // namespace axle
