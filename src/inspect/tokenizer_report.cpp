#include "inspect/tokenizer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "data/token_files/token_card.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {
namespace {

TokenText token_text(const Tokenizer& tokenizer, int32_t id) { return {id, tokenizer.token(id)}; }

std::vector<TokenText> token_texts(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::vector<TokenText> out;
  for (const int32_t id : ids) out.push_back(token_text(tokenizer, id));
  return out;
}

nlohmann::ordered_json to_json(const std::vector<TokenText>& tokens) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& [id, token] : tokens) out.push_back({{"id", id}, {"token", token}});
  return out;
}

std::string joined(const std::vector<TokenText>& tokens) {
  std::string out;
  for (const auto& [id, token] : tokens)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", id, printable(token));
  return out;
}

}  // namespace

NamedTokenizer open_tokenizer(const std::string& path) {
  const Child<Tokenizer> config = tokenizer_in_file(path, "FILE");
  return {.path = tokenizer_path(path),
          .class_name = std::string(config.any().type().name),
          .tokenizer = config.build({}, {.path = "tokenizer"})};
}

EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text, bool with_special,
                        bool framed) {
  std::vector<int32_t> ids =
      with_special ? tokenizer.encode_with_special(text) : tokenizer.encode(text);
  if (framed) ids = tokenizer.framed(std::move(ids));
  return {token_texts(tokenizer, ids)};
}

std::string to_text(const EncodedText& encoded) {
  std::string out;
  for (const TokenText& token : encoded.tokens)
    out += fmt::format("{}{}", out.empty() ? "" : " ", token.id);
  return out + "\n";
}

nlohmann::ordered_json to_json(const EncodedText& encoded) {
  return {{"num_tokens", encoded.tokens.size()}, {"tokens", to_json(encoded.tokens)}};
}

// The ids of what to_json(EncodedText) gives, as a text of ids.
std::string ids_in_json(std::string_view text) {
  return json_as<DataError>("--ids", [&] {
    const nlohmann::ordered_json document = read_json(text);
    std::string out = " ";
    for (const JsonView& token : JsonView(document).at("tokens").elements())
      out += fmt::format("{} ", token.at("id").integer(0, std::numeric_limits<int32_t>::max()));
    return out;
  });
}

std::vector<int32_t> parse_ids(std::string_view text, const NamedTokenizer& tokenizer) {
  const std::string of_json = trim(text).starts_with('{') ? ids_in_json(text) : "";
  if (!of_json.empty()) text = of_json;
  constexpr std::string_view kBetween = " ,\t\r\n[]";
  const int64_t size = tokenizer.tokenizer->vocab_size();
  std::vector<int32_t> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return out;
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    int64_t id = -1;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size() || id < 0 || id >= size) {
      throw DataError(fmt::format("--ids: expected ids of 0 to {} of {}, got '{}'", size - 1,
                                  tokenizer.path, printable(word)));
    }
    out.push_back(static_cast<int32_t>(id));
    text.remove_prefix(word.size());
  }
}

TokenizerFacts tokenizer_facts(const NamedTokenizer& named) {
  const Tokenizer& tokenizer = *named.tokenizer;
  TokenizerFacts out{.path = named.path,
                     .class_name = named.class_name,
                     .vocab_size = tokenizer.vocab_size(),
                     .fingerprint = tokenizer.fingerprint()};
  const SpecialIds special = tokenizer.special_ids();
  const auto add = [&](const char* name, const std::optional<int32_t>& id) {
    if (id) out.special.emplace_back(name, token_text(tokenizer, *id));
  };
  add("bos", special.bos);
  add("eos", special.eos);
  add("pad", special.pad);
  // The frame of one token shows what stands before and behind it.
  const std::vector<int32_t> framed = tokenizer.framed({-1});
  const auto middle = std::ranges::find(framed, -1);
  out.before = token_texts(tokenizer, {framed.begin(), middle});
  if (middle != framed.end()) out.behind = token_texts(tokenizer, {middle + 1, framed.end()});
  out.added = token_texts(tokenizer, tokenizer.added_ids());
  return out;
}

std::string to_text(const TokenizerFacts& f) {
  std::string out = fmt::format("{}: {}, vocabulary of {}\n", f.path, f.class_name, f.vocab_size);
  for (const auto& [name, token] : f.special)
    out += fmt::format("{}: {} {}\n", name, token.id, printable(token.token));
  if (!f.before.empty()) out += fmt::format("before a text: {}\n", joined(f.before));
  if (!f.behind.empty()) out += fmt::format("behind a text: {}\n", joined(f.behind));
  constexpr size_t kMostShown = 20;
  if (!f.added.empty()) {
    const size_t num_shown = std::min(f.added.size(), kMostShown);
    out += fmt::format("found by name: {}", joined({f.added.begin(), f.added.begin() + num_shown}));
    if (f.added.size() > num_shown) out += fmt::format(" and {} more", f.added.size() - num_shown);
    out += "\n";
  }
  return out;
}

nlohmann::ordered_json to_json(const TokenizerFacts& f) {
  nlohmann::ordered_json special = nlohmann::ordered_json::object();
  for (const auto& [name, token] : f.special)
    special[name] = {{"id", token.id}, {"token", token.token}};
  return {{"path", f.path},
          {"class", f.class_name},
          {"vocab_size", f.vocab_size},
          {"special", special},
          {"before", to_json(f.before)},
          {"behind", to_json(f.behind)},
          {"added", to_json(f.added)},
          {"fingerprint", fmt::format("{:016x}", f.fingerprint)}};
}

}  // namespace axle
