#include "interop/gguf/gguf_names.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

constexpr std::string_view kLayer = "{layer}", kExpert = "{expert}";

// The name of a tensor, apart from its numbers and its end.
struct Parts {
  std::string row;          // "blk.{layer}.attn_q"
  std::string layer;        // "12", or ""
  std::string_view ending;  // "weight"
};

bool is_number(std::string_view text) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  return !text.empty() && std::ranges::all_of(text, is_digit) && (text[0] != '0' || text == "0");
}

// The first number in a name is that of a layer, the second one that of an expert.
std::optional<Parts> parts_of(const std::string& name) {
  Parts out;
  for (const std::string_view ending : {".weight", ".bias"})
    if (name.ends_with(ending)) out.ending = ending.substr(1);
  if (out.ending.empty()) return {};
  std::string_view sign = kLayer;
  for (const std::string_view word :
       split(std::string_view(name).substr(0, name.size() - out.ending.size() - 1), '.')) {
    if (!out.row.empty()) out.row += '.';
    const bool is_sign = is_number(word);
    if (is_sign && sign == kLayer) out.layer = word;
    out.row += is_sign ? sign : word;
    if (is_sign) sign = kExpert;
  }
  return out;
}

std::string filled(std::string_view row, const Parts& parts) {
  std::string out(row);
  if (const size_t at = out.find(kLayer); at != out.npos)
    out.replace(at, kLayer.size(), parts.layer);
  return out + "." + std::string(parts.ending);
}

}  // namespace

GgufNames::GgufNames(const std::vector<GgufName>& rows) {
  for (const GgufName& row : rows) {
    AXLE_CHECK(by_gguf_.emplace(row.gguf, row).second, "two rows of " + std::string(row.gguf));
    AXLE_CHECK(by_foreign_.emplace(row.foreign, row).second,
               "two rows of " + std::string(row.foreign));
  }
}

std::optional<GgufNames::Foreign> GgufNames::foreign(const std::string& gguf) const {
  const auto parts = parts_of(gguf);
  const auto row = parts ? by_gguf_.find(parts->row) : by_gguf_.end();
  if (row == by_gguf_.end()) return {};
  return Foreign{filled(row->second.foreign, *parts), row->second.change};
}

std::optional<std::string> GgufNames::gguf(const std::string& foreign) const {
  const auto parts = parts_of(foreign);
  const auto row = parts ? by_foreign_.find(parts->row) : by_foreign_.end();
  if (row == by_foreign_.end()) return {};
  return filled(row->second.gguf, *parts);
}

}  // namespace axle
