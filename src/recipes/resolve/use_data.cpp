#include "recipes/resolve/use_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text/text.h"
#include "config/walk.h"
#include "data/chat/chat_input.h"
#include "data/data_file.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"
#include "io/file.h"
#include "layers/models/beside_frozen.h"

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

namespace {

// Calls fn(path, more_paths) for the sources of texts and of conversations.
template <class Fn>
void for_each_source(ConfigRef root, const Fn& fn) {
  const auto call = [&](const std::string&, auto& source) { fn(source.path, source.more_paths); };
  for_each_config<TextSource>(root, call);
  for_each_config<CorpusSource>(root, call);
  for_each_config<ChatSource>(root, call);
}

bool is_of(const std::string& path, const std::set<std::string>& texts) {
  return std::ranges::any_of(texts,
                             [&](const std::string& text) { return is_same_file(text, path); });
}

int point_at(ConfigRef root, const UseData& use, const std::set<std::string>& moving) {
  int sources = 0;
  for_each_source(root, [&](auto& path, auto& more_paths) {
    ++sources;
    if (path.has_value() && !is_of(*path, moving)) return;
    path = use.data;
    more_paths = use.more;
  });
  return sources;
}

// True if the evaler has its own data, which must stay.
bool has_own_data(Evaler::Config& evaler, const std::set<std::string>& moving) {
  const auto* const synthetic = evaler.input.get_if<SyntheticInput>();
  if (synthetic) return synthetic->num_batches.has_value();
  return std::ranges::any_of(text_paths(evaler.input),
                             [&](const std::string& path) { return !is_of(path, moving); });
}

// Replaces a TextSource by a CorpusSource.
void read_corpus(TextInput::Config& input) {
  const auto* const text = input.source.get_if<TextSource>();
  if (!text) return;
  CorpusSource::Config corpus{
      .more_paths = text->more_paths, .unit = text->unit, .on_error = text->on_error};
  corpus.path = text->path;
  input.source = std::move(corpus);
}

std::string_view holds(DataKind kind) {
  if (kind == DataKind::kConversations) return "conversations";
  return kind == DataKind::kPreferences ? "pairs of answers" : "texts";
}

// A named field of records means that they are texts, regardless of other fields.
bool names_field(const Child<Input>& input) {
  const auto* const text = input.get_if<TextInput>();
  const auto* const corpus = text ? text->source.get_if<CorpusSource>() : nullptr;
  return corpus && corpus->field != CorpusSource::Config().field;
}

// One input reads files of one kind.
void check_goes_with(DataKind kind, const std::string& data, DataKind other,
                     const std::string& path) {
  const bool is_known = kind != DataKind::kUnknown && other != DataKind::kUnknown;
  if (!is_known || holds(kind) == holds(other)) return;
  const bool has_pairs = kind == DataKind::kPreferences || other == DataKind::kPreferences;
  throw ConfigError(fmt::format(
      "--data {}: expected {}, as in {}, got {}; {}", path, holds(kind), data, holds(other),
      has_pairs ? "learn from pairs of answers alone"
                : fmt::format("mix them by weights: --data {}=0.5 --data {}=0.5", data, path)));
}

}  // namespace

void suit_input(Child<Input>& input, const std::string& data,
                const std::vector<std::string>& more) {
  std::vector<std::string> all = {data};
  all.insert(all.end(), more.begin(), more.end());
  if (are_token_sources(all)) {
    if (input.get_if<TextInput>()) read_tokens(input, {}, "input");
    return;
  }
  read_texts(input);
  const bool is_text = input.get_if<TextInput>(), is_chat = input.get_if<ChatInput>(),
             is_pairs = input.get_if<PreferenceInput>();
  if ((!is_text && !is_chat && !is_pairs) || names_field(input)) return;
  DataKind kind = data_kind_at(data);
  for (const std::string& path : more) {
    const DataKind own = data_kind_at(path);
    check_goes_with(kind, data, own, path);
    kind = joined_kind(kind, own);
  }
  const bool is_corpus = kind == DataKind::kCorpus;
  if ((kind == DataKind::kText || is_corpus) && !is_text)
    put_input(input, TextInput::Config{}, {"source", "packing"});
  if (is_corpus) read_corpus(*input.get_if<TextInput>());
  if (kind == DataKind::kConversations && !is_chat)
    put_input(input, ChatInput::Config{}, {"source", "packing"});
  if (kind == DataKind::kPreferences && !is_pairs)
    put_input(input, PreferenceInput::Config{}, {"source"});
}

std::set<std::string> text_paths(ConfigRef root) {
  std::set<std::string> out;
  for_each_source(root, [&](const auto& path, const auto& more_paths) {
    if (path.has_value()) out.insert(*path);
    out.insert(more_paths.begin(), more_paths.end());
  });
  for_each_config<TokenInput>(root, [&](const std::string&, TokenInput::Config& input) {
    for (const auto& [name, source] : input.sources) {
      if (source.path.has_value()) out.insert(*source.path);
    }
  });
  return out;
}

bool gives_pairs(const Child<Input>& input) {
  if (const auto* const synthetic = input.get_if<SyntheticInput>()) return synthetic->pairs;
  const auto* const tokens = input.get_if<TokenInput>();
  return tokens ? num_sources_of_pairs(*tokens) > 0 : input.get_if<PreferenceInput>() != nullptr;
}

void make_synthetic(Child<Input>& input, std::optional<int64_t> num_batches) {
  put_input(input, SyntheticInput::Config{.num_batches = num_batches, .pairs = gives_pairs(input)},
            {"num_batches", "pairs"});
}

std::vector<Rewrite> UseData::apply_to(Trainer::Config& config) const {
  // Evalers on the same text as the input change with it.
  const std::set<std::string> moving = text_paths(config.input);
  if (!more.empty() && (data == kSyntheticData || std::ranges::count(more, kSyntheticData) > 0)) {
    throw ConfigError(fmt::format("--data: expected paths, or '{}' alone, got both; leave one out",
                                  kSyntheticData));
  }
  if (data == kSyntheticData) {
    make_synthetic(config.input, {});
    if (auto* const rows = config.input.get_if<SyntheticInput>())
      rows->pairs |= config.model.get_if<PreferenceLM>() != nullptr;
    for (auto& [name, evaler] : config.evalers) {
      if (!has_own_data(evaler, moving)) make_synthetic(evaler.input, kSyntheticEvalBatches);
    }
    return {};
  }
  std::vector<std::string> all = {data};
  all.insert(all.end(), more.begin(), more.end());
  if (const auto tokens = token_sources(all)) {
    read_tokens(config.input, *tokens, "input");
    for (auto& [name, evaler] : config.evalers) {
      // The sources come from the run's input.
      if (!has_own_data(evaler, moving))
        read_tokens(evaler.input, {}, "evalers." + name + ".input");
    }
    return {};
  }
  suit_input(config.input, data, more);
  if (point_at(config.input, *this, moving) == 0) {
    throw ConfigError(
        fmt::format("--data {}: expected an input that reads text, got {}; put --set "
                    "input=TextInput before --data",
                    data, config.input ? config.input.any().type().name : "none"));
  }
  for (auto& [name, evaler] : config.evalers) {
    if (evaler.input && !has_own_data(evaler, moving)) suit_input(evaler.input, data, more);
    point_at(evaler.input, *this, moving);
  }
  return {};
}

}  // namespace axle
