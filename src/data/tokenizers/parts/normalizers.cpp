#include "data/tokenizers/parts/normalizers.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "data/tokenizers/parts/categories.h"

namespace axle {
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

}  // namespace axle
