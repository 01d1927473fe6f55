#include "data/tokenizers/parts/normalizers.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/pre_tokenizers.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

void decode_byte_level(std::string& token) {
  if (auto bytes = from_byte_level(token)) token = *std::move(bytes);
}

void decode_byte_token(std::string& token) {
  if (const auto byte = byte_of_token(token)) token.assign(1, static_cast<char>(*byte));
}

std::function<void(std::string&)> decode_word_piece(std::string prefix, bool cleanup) {
  std::vector<Normalizer> replaced;
  constexpr const char* kPairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                       {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                       {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                       {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kPairs) replaced.push_back(replace_text(from, to));
  return [prefix = std::move(prefix), cleanup, replaced](std::string& token) {
    if (token.starts_with(prefix) && !prefix.empty())
      token.erase(0, prefix.size());
    else
      token.insert(token.begin(), ' ');
    if (!cleanup) return;
    for (const Normalizer& replace : replaced) replace(token);
  };
}

std::function<void(std::string&)> strip_text(std::string text, size_t left, size_t right) {
  return [text = std::move(text), left, right](std::string& token) {
    if (text.empty()) return;
    for (size_t i = 0; i < left && token.starts_with(text); ++i) token.erase(0, text.size());
    for (size_t i = 0; i < right && token.ends_with(text); ++i)
      token.resize(token.size() - text.size());
  };
}

namespace {

template <class F>
void rewrite(std::string& text, F&& add) {
  std::string out;
  out.reserve(text.size());
  for_each_code_point(text, [&](char32_t c) { add(c, out); });
  text = std::move(out);
}

constexpr size_t kMostTimes = 64, kFree = size_t{1} << 20;

// Some replacements one after the other could make a text of any size.
void check_growth(const std::string& out, size_t bytes) {
  if (out.size() <= kMostTimes * bytes + kFree) return;
  throw DataError(fmt::format(
      "expected normalizers that make a text at most {} times longer, got {} bytes of {}",
      kMostTimes, out.size(), bytes));
}

bool is_chinese(char32_t c) {
  constexpr struct {
    char32_t first, last;
  } kBlocks[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                 {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
  for (const auto& block : kBlocks) {
    if (c >= block.first && c <= block.last) return true;
  }
  return false;
}

bool is_removed_by_nmt(char32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
         c == 0x9f;
}

bool is_space_for_nmt(char32_t c) {
  return c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
         (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
         c == 0xfffd;
}

}  // namespace

void normalize(std::string& text, std::span<const Normalizer> normalizers) {
  const size_t bytes = text.size();
  for (const Normalizer& normalizer : normalizers) {
    normalizer(text);
    check_growth(text, bytes);
  }
}

Normalizer to_normal_form(NormalForm form) {
  return [form](std::string& text) { text = normal_form(text, form); };
}

Normalizer to_lower_case() {
  return [](std::string& text) { text = unicode_lower_case(text); };
}

Normalizer strip(bool left, bool right) {
  return [left, right](std::string& text) {
    size_t begin = 0, end = 0, at = 0;  // of what is not white space
    bool is_before = true;
    for_each_code_point(text, [&](char32_t c) {
      const size_t next = at + utf8_size(c);
      if (!is_white_space(c)) {
        if (is_before) begin = at;
        is_before = false;
        end = next;
      }
      at = next;
    });
    if (is_before) begin = left ? text.size() : 0;
    if (right) text.resize(is_before ? 0 : end);
    if (left) text.erase(0, begin);
  };
}

Normalizer strip_accents() {
  return [](std::string& text) {
    rewrite(text, [](char32_t c, std::string& out) {
      if (!is_mark(c)) append_utf8(out, c);
    });
  };
}

Normalizer replace_text(std::string text, std::string by) {
  return [from = std::move(text), by = std::move(by)](std::string& text_in) {
    if (from.empty()) return;
    std::string out;
    size_t at = 0;
    for (size_t next; (next = text_in.find(from, at)) != text_in.npos; at = next + from.size()) {
      out.append(text_in, at, next - at).append(by);
      check_growth(out, text_in.size());
    }
    if (at == 0) return;
    text_in = out.append(text_in, at);
  };
}

Normalizer replace_pattern(UnicodeRegex pattern, std::string by) {
  return [pattern = std::move(pattern), by = std::move(by)](std::string& text) {
    UnicodeRegex::Finder finder(pattern, text);
    std::string out;
    size_t at = 0;
    while (const auto match = finder.next()) {
      out.append(text, at, match->begin - at).append(by);
      check_growth(out, text.size());
      at = match->end;
    }
    text = out.append(text, at);
  };
}

Normalizer prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string& text) {
    if (!text.empty()) text.insert(0, prefix);
  };
}

void BertNormalizer::operator()(std::string& text) const {
  if (clean_text) {
    rewrite(text, [](char32_t c, std::string& out) {
      if (c == '\t' || c == '\n' || c == '\r' || (is_white_space(c) && !is_other(c)))
        out += ' ';
      else if (c != 0 && c != 0xfffd && !is_other(c))
        append_utf8(out, c);
    });
  }
  if (space_chinese) {
    rewrite(text, [](char32_t c, std::string& out) {
      const bool spaced = is_chinese(c);
      if (spaced) out += ' ';
      append_utf8(out, c);
      if (spaced) out += ' ';
    });
  }
  if (strip_accents) {
    text = normal_form(text, NormalForm::kNfd);
    rewrite(text, [](char32_t c, std::string& out) {
      if (!is_nonspacing_mark(c)) append_utf8(out, c);
    });
  }
  if (lower_case) text = unicode_lower_case(text);
}

Normalizer nmt() {
  return [](std::string& text) {
    rewrite(text, [](char32_t c, std::string& out) {
      if (is_space_for_nmt(c))
        out += ' ';
      else if (!is_removed_by_nmt(c))
        append_utf8(out, c);
    });
  };
}

namespace {

static_assert(std::endian::native == std::endian::little, "the table lies in memory as stored");

// Published models have tries of a quarter of a megabyte.
constexpr size_t kMaxTrieBytes = size_t{16} << 20;
constexpr uint32_t kIsLeaf = 1u << 31, kHasLeaf = 1u << 8, kFarOffset = 1u << 9;
// Longer clusters are replaced character by character.
constexpr size_t kMaxClusterBytes = 5;

}  // namespace

CharsMap::CharsMap(std::string_view bytes, const std::string& where) : where_(where) {
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof(trie_bytes)) fail("cut off");
  std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
  bytes.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0 ||
      trie_bytes > kMaxTrieBytes || trie_bytes == 0)
    fail("of an impossible size");
  units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  texts_ = bytes.substr(trie_bytes);
  if (texts_.empty() || texts_.back() != '\0') fail("without the end of its texts");
  check();
}

// Follows every path that a text can take through the trie.
void CharsMap::check() const {
  std::vector<size_t> open = {base_of(units_[0], 0)};
  std::vector<bool> seen(units_.size());
  seen[open[0]] = true;
  while (!open.empty()) {
    const size_t base = open.back();
    open.pop_back();
    for (size_t label = 0; label < 256; ++label) {
      const uint32_t unit = units_[base ^ label];
      if ((unit & (kIsLeaf | 0xff)) != label) continue;
      const size_t next = base_of(unit, base ^ label);
      if (unit & kHasLeaf && (units_[next] & ~kIsLeaf) >= texts_.size())
        fail("that points beyond its texts");
      if (!seen[next]) open.push_back(next);
      seen[next] = true;
    }
  }
}

// Returns the base of the children of the unit at `at`: the child for label c is at base ^ c.
size_t CharsMap::base_of(uint32_t unit, size_t at) const {
  const size_t base = at ^ (size_t{unit >> 10} << ((unit & kFarOffset) ? 8 : 0));
  if ((base | 0xff) >= units_.size()) fail("that points beyond itself");
  return base;
}

void CharsMap::fail(std::string_view what) const {
  throw DataError(fmt::format("{}, got a table of normalized characters {}", where_, what));
}

std::optional<std::string_view> CharsMap::find(std::string_view text) const {
  size_t base = base_of(units_[0], 0);
  for (const char c : text) {
    const size_t label = static_cast<uint8_t>(c), at = base ^ label;
    const uint32_t unit = units_[at];
    if ((unit & (kIsLeaf | 0xff)) != label) return std::nullopt;
    base = base_of(unit, at);
    if (unit & kHasLeaf) return std::string_view(texts_.c_str() + (units_[base] & ~kIsLeaf));
  }
  return std::nullopt;
}

std::optional<CharsMap::Found> CharsMap::find_longest(std::string_view text) const {
  std::optional<Found> out;
  size_t base = base_of(units_[0], 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t label = static_cast<uint8_t>(text[i]), at = base ^ label;
    const uint32_t unit = units_[at];
    if ((unit & (kIsLeaf | 0xff)) != label) break;
    base = base_of(unit, at);
    if (unit & kHasLeaf)
      out = Found{std::string_view(texts_.c_str() + (units_[base] & ~kIsLeaf)), i + 1};
  }
  return out;
}

bool CharsMap::may_begin_with(std::string_view text) const {
  size_t base = base_of(units_[0], 0);
  for (const char c : text) {
    const size_t label = static_cast<uint8_t>(c), at = base ^ label;
    if ((units_[at] & (kIsLeaf | 0xff)) != label) return false;
    if (units_[at] & kHasLeaf) return true;
    base = base_of(units_[at], at);
  }
  return true;
}

bool CharsMap::keeps_in_ascii(uint8_t character) const {
  const size_t at = base_of(units_[0], 0) ^ character;
  const auto has_label = [&](size_t place, size_t label) {
    return (units_[place] & (kIsLeaf | 0xff)) == label;
  };
  if (!has_label(at, character)) return true;
  const size_t base = base_of(units_[at], at);
  if (units_[at] & kHasLeaf) return false;
  for (size_t next = 0; next < 128; ++next) {
    if (has_label(base ^ next, next)) return false;
  }
  return true;
}

void CharsMap::normalize(std::string& text) const {
  std::string out;
  out.reserve(text.size());
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view cluster = rest.substr(0, first_grapheme(rest));
    rest.remove_prefix(cluster.size());
    if (cluster.size() <= kMaxClusterBytes) {
      if (const auto found = find(cluster)) {
        out += *found;
        continue;
      }
    }
    while (!cluster.empty()) {
      const std::string_view character = cluster.substr(0, first_code_point(cluster).size);
      out += find(character).value_or(character);
      cluster.remove_prefix(character.size());
    }
  }
  text = std::move(out);
}

}  // namespace axle
