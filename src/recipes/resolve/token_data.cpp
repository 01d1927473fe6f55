#include "recipes/resolve/token_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text/text.h"
#include "data/chat/chat_input.h"
#include "data/chat/preference_input.h"
#include "data/data_kind.h"
#include "data/source_files.h"
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
  const auto file = [](const std::string& of) {
    return is_token_file(of) ? token_file_prefix(of) + ".idx" : of;
  };
  for (const auto& [name, other] : others) {
    if (!is_same_file(file(*other.path), file(path))) continue;
    throw ConfigError(
        fmt::format("--data {}: expected each file once, got {} before; PATH=WEIGHT says how much "
                    "of a file is read",
                    path, *other.path));
  }
}

// The name of a file, or of a folder, without the endings of its format.
std::string file_name(const std::string& path) {
  if (is_token_file(path)) return std::filesystem::path(token_file_prefix(path)).filename();
  std::filesystem::path of = std::filesystem::path(path).lexically_normal();
  if (!of.has_filename()) of = of.parent_path();
  if (const std::string ending = format_ending(of); ending != lower_case(of.extension().string()))
    of = of.stem();
  return of.stem();
}

// A name for a source, which may stand in a config path: of "data/web-2024.v2.idx", "web-2024_v2".
std::string name_of_source(const std::string& path, const NamedMap<TokenSource>& others) {
  constexpr size_t kLongest = 90;
  std::string name = file_name(path).substr(0, kLongest);
  bool is_legible = false;
  for (char& c : name) {
    const bool is_good = std::isalnum(static_cast<unsigned char>(c)) || c == '-';
    is_legible |= is_good;
    if (!is_good) c = '_';
  }
  if (!is_legible) name = is_token_file(path) ? "tokens" : "files";
  std::string out = name;
  for (int i = 2; others.contains(out); ++i) out = fmt::format("{}-{}", name, i);
  return out;
}

// Conversations are not cut between their turns, and pairs stay together.
void suit_to_documents(TokenSource& source) {
  const std::string& path = *source.path;
  DataKind kind = DataKind::kText;
  if (!is_token_file(path)) {
    kind = data_kind_at(path);
  } else if (const auto card = read_token_card(token_file_prefix(path)); card && card->learned) {
    kind = card->has_pairs() ? DataKind::kPreferences : DataKind::kConversations;
  }
  if (kind == DataKind::kPreferences) source.packing = Packing::kPairs;
  if (kind != DataKind::kConversations) return;
  source.packing = Packing::kWhole;
  source.long_documents = LongDocuments::kTruncate;
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

bool are_token_sources(const std::vector<std::string>& texts) {
  return std::ranges::any_of(texts, [](const std::string& text) {
    const auto [path, weight] = weighted_path(text);
    return weight || is_token_file(path);
  });
}

std::optional<NamedMap<TokenSource>> token_sources(const std::vector<std::string>& texts) {
  if (!are_token_sources(texts)) return std::nullopt;
  NamedMap<TokenSource> out;
  for (const std::string& text : texts) {
    const auto [path, weight] = weighted_path(text);
    if (const std::string none = no_texts_at(path); !is_token_file(path) && !none.empty()) {
      throw DataError(fmt::format(
          "--data {}: expected a token file, texts or conversations, got {}", text, none));
    }
    if (weight && !(*weight > 0 && std::isfinite(*weight)))
      throw ConfigError(fmt::format("--data {}: expected a weight above 0, got {}", text, *weight));
    check_is_new(path, out);
    TokenSource source{.path = path};
    if (weight) source.weight = *weight;
    suit_to_documents(source);
    out.emplace(name_of_source(path, out), std::move(source));
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
