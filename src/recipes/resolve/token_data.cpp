#include "recipes/resolve/token_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "data/chat/chat_input.h"
#include "data/chat/preference_input.h"
#include "data/text_input.h"
#include "io/file.h"
#include "io/user_path.h"
#include "recipes/resolve/put_input.h"

namespace axle {
namespace {

bool is_there(const std::string& path) {
  return path_exists(path_of_text(path)) || is_token_file(path);
}

// The same file under two names would count twice.
void check_is_new(const std::string& path, const NamedMap<TokenSource>& others) {
  const auto index = [](const std::string& of) { return token_file_prefix(of) + ".idx"; };
  for (const auto& [name, other] : others) {
    if (!is_same_file(index(*other.path), index(path))) continue;
    throw ConfigError(
        fmt::format("--data {}: expected each token file once, got {} before; PREFIX.idx=WEIGHT "
                    "says how much of a file is read",
                    path, *other.path));
  }
}

// A name for a source, which may stand in a config path: of "data/web-2024.v2.idx", "web-2024_v2".
std::string name_of_source(const std::string& path, const NamedMap<TokenSource>& others) {
  constexpr size_t kLongest = 90;
  std::string name =
      std::filesystem::path(token_file_prefix(path)).filename().string().substr(0, kLongest);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  }
  if (name.empty()) name = "tokens";
  std::string out = name;
  for (int i = 2; others.contains(out); ++i) out = fmt::format("{}-{}", name, i);
  return out;
}

// Conversations are not cut between their turns, and pairs stay together.
void suit_to_card(TokenSource& source) {
  const auto card = read_token_card(token_file_prefix(*source.path));
  if (!card || !card->learned) return;
  source.packing = card->has_pairs() ? Packing::kPairs : Packing::kWhole;
  if (!card->has_pairs()) source.long_documents = LongDocuments::kTruncate;
}

}  // namespace

WeightedPath weighted_path(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0 || is_there(text)) return {text};
  double weight = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + equals + 1, end, weight);
  if (read.ec != std::errc() || read.ptr != end) return {text};
  return {text.substr(0, equals), weight};
}

std::optional<NamedMap<TokenSource>> token_sources(const std::vector<std::string>& texts) {
  NamedMap<TokenSource> out;
  std::string other;
  for (const std::string& text : texts) {
    const auto [path, weight] = weighted_path(text);
    if (!is_token_file(path)) {
      if (weight) {
        throw ConfigError(fmt::format(
            "--data {}: expected a token file for a weight, got {}; make one by axle data build",
            text, is_there(path) ? "another file" : nothing_at(path_of_text(path))));
      }
      other = text;
      continue;
    }
    if (weight && !(*weight > 0 && std::isfinite(*weight)))
      throw ConfigError(fmt::format("--data {}: expected a weight above 0, got {}", text, *weight));
    check_is_new(path, out);
    TokenSource source{.path = path};
    if (weight) source.weight = *weight;
    suit_to_card(source);
    out.emplace(name_of_source(path, out), std::move(source));
  }
  if (out.empty()) return std::nullopt;
  if (!other.empty()) {
    throw ConfigError(
        fmt::format("--data {}: expected a token file, as the other --data name, got "
                    "another path; make one by axle data build",
                    other));
  }
  return out;
}

void read_tokens(Child<Input>& input, const NamedMap<TokenSource>& sources,
                 const std::string& field) {
  if (auto* const tokens = input.get_if<TokenInput>()) {
    tokens->sources = sources;
    return;
  }
  const auto* const text = input.get_if<TextInput>();
  const bool is_chat = input.get_if<ChatInput>() || input.get_if<PreferenceInput>();
  if (!is_chat && (!text || text->prompt || !text->position_streams.empty())) {
    throw ConfigError(fmt::format(
        "{}: expected an input that reads text without prompts or streams of positions, for token "
        "files, got {}",
        field, !text ? (input ? input.any().type().name : "none") : "one with them"));
  }
  put_input(input, TokenInput::Config{.sources = sources}, {"sources"});
}

void read_texts(Child<Input>& input) {
  if (input.get_if<TokenInput>()) put_input(input, TextInput::Config{}, {});
}

}  // namespace axle
