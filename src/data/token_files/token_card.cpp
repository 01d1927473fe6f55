#include "data/token_files/token_card.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "io/file.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "axle tokens";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

bool flag_of(const JsonView& json) {
  if (!json.json().is_boolean()) json.fail("true or false");
  return json.json().get<bool>();
}

Json json_of(const TokenizerCard& card) {
  Json out = {{"class", card.class_name},
              {"path", card.path},
              {"sha256", card.sha256},
              {"fingerprint", fmt::format("{:016x}", card.fingerprint)},
              {"vocab_size", card.vocab_size}};
  const auto add = [&](const char* name, std::optional<int32_t> id) {
    if (id) out[name] = *id;
  };
  add("bos", card.special.bos);
  add("eos", card.special.eos);
  add("pad", card.special.pad);
  return out;
}

TokenizerCard tokenizer_card_of(const JsonView& json) {
  TokenizerCard out{.class_name = json.at("class").text(),
                    .path = json.at("path").text(),
                    .sha256 = json.at("sha256").text(),
                    .fingerprint = hexadecimal(json.at("fingerprint")),
                    .vocab_size = json.at("vocab_size").integer(1, int64_t{1} << 31)};
  const auto id = [&](const char* name) -> std::optional<int32_t> {
    const auto found = json.find(name);
    if (!found) return std::nullopt;
    return static_cast<int32_t>(found->integer(0, out.vocab_size - 1));
  };
  out.special = {.bos = id("bos"), .eos = id("eos"), .pad = id("pad")};
  return out;
}

Json json_of(const LearnedCard& card) {
  return {{"settings", card.settings},         {"chat_template", card.chat_template},
          {"spelled_ends", card.spelled_ends}, {"tokens", card.num_learned},
          {"flags", to_json(card.flags)},      {"index", to_json(card.index)}};
}

LearnedCard learned_card_of(const JsonView& json) {
  const auto chat_template = json.find("chat_template");
  const auto spelled_ends = json.find("spelled_ends");  // none: of an earlier version
  return {.settings = json.at("settings").text(),
          .chat_template = chat_template ? chat_template->text() : "",
          .spelled_ends = spelled_ends ? spelled_ends->texts() : std::vector<std::string>(),
          .num_learned = json.at("tokens").integer(0, kMost),
          .flags = hashed_file_of(json.at("flags")),
          .index = hashed_file_of(json.at("index"))};
}

TokenCard card_of(const JsonView& json) {
  if (json.at("format").text() != kFormat) json.at("format").fail(std::string(kFormat));
  json.at("version").integer(1, 1);
  TokenCard out{.tokenizer = tokenizer_card_of(json.at("tokenizer")),
                .begins = flag_of(json.at("begins")),
                .ends = flag_of(json.at("ends")),
                .field = json.at("field").text(),
                .unit = json.at("unit").text(),
                .num_documents = json.at("documents").integer(0, kMost),
                .num_tokens = json.at("tokens").integer(0, kMost),
                .text_bytes = json.at("text_bytes").integer(0, kMost),
                .piece_bytes = json.at("piece_bytes").integer(0, kMost),
                .ids = hashed_file_of(json.at("ids")),
                .index = hashed_file_of(json.at("index")),
                .skipped = skipped_of(json.at("skipped").json())};
  if (const auto learned = json.find("learned")) {
    out.learned = learned_card_of(*learned);
    out.remarks = Remarks::of(*learned);  // of an earlier version
  }
  if (const auto remarks = json.find("remarks")) out.remarks = Remarks::of(*remarks);
  for (const JsonView& source : json.at("sources").elements())
    out.sources.push_back(hashed_file_of(source));
  return out;
}

std::string to_text(const SpecialIds& boundaries) {
  const auto text = [](std::optional<int32_t> id) { return id ? std::to_string(*id) : "none"; };
  return fmt::format("bos {}, eos {}", text(boundaries.bos), text(boundaries.eos));
}

}  // namespace

Json to_json(const HashedFile& file) {
  Json out = {{"path", file.path},
              {"bytes", file.num_bytes},
              {"sha256", file.sha256},
              {"documents", file.num_documents}};
  if (!file.state.empty()) out["state"] = file.state;
  return out;
}

HashedFile hashed_file_of(const JsonView& json) {
  const auto state = json.find("state");
  return {.path = json.at("path").text(),
          .num_bytes = json.at("bytes").integer(0, kMost),
          .sha256 = json.at("sha256").text(),
          .num_documents = json.at("documents").integer(0, kMost),
          .state = state ? state->text() : ""};
}

uint64_t hexadecimal(const JsonView& json) {
  const std::string& text = json.text();
  uint64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    json.fail("a number of 16 hexadecimal digits");
  return out;
}

Json to_json(const Skipped& skipped) {
  Json out = {{"count", skipped.count}, {"reasons", Json::object()}, {"names", Json::object()}};
  for (const auto& [reason, count] : skipped.reasons) out["reasons"][reason] = count;
  for (const auto& [reason, names] : skipped.names) out["names"][reason] = names;
  out["messages"] = skipped.messages;
  return out;
}

Skipped skipped_of(const Json& json) {
  const JsonView view(json);
  Skipped out{.count = view.at("count").integer(0, kMost)};
  for (const auto& [reason, count] : view.at("reasons").members())
    out.reasons[reason] = count.integer(0, kMost);
  for (const auto& [reason, names] : view.at("names").members()) out.names[reason] = names.texts();
  out.messages = view.at("messages").texts();
  return out;
}

std::string token_card_path(const std::string& prefix) { return prefix + ".json"; }

std::string learned_prefix(const std::string& prefix) { return prefix + ".learned"; }

std::string text_of_card(const TokenCard& card) {
  Json sources = Json::array();
  for (const HashedFile& source : card.sources) sources.push_back(to_json(source));
  Json out = {{"format", kFormat},
              {"version", 1},
              {"tokenizer", json_of(card.tokenizer)},
              {"begins", card.begins},
              {"ends", card.ends},
              {"field", card.field},
              {"unit", card.unit},
              {"documents", card.num_documents},
              {"tokens", card.num_tokens},
              {"text_bytes", card.text_bytes},
              {"piece_bytes", card.piece_bytes},
              {"ids", to_json(card.ids)},
              {"index", to_json(card.index)}};
  if (card.learned) out["learned"] = json_of(*card.learned);
  out["sources"] = sources;
  card.remarks.add_to(out["remarks"]);
  out["skipped"] = to_json(card.skipped);
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<TokenCard> read_token_card(const std::string& prefix) {
  const std::string path = token_card_path(prefix);
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) return std::nullopt;
  const std::string text = storage_error_as<DataError>([&] { return read_file(file); });
  return json_as<DataError>(path, [&] {
    const Json json = read_json(text);
    return card_of(JsonView(json));
  });
}

std::string TokenCard::source_of(int64_t document) const {
  for (const HashedFile& source : sources) {
    if (document < source.num_documents) {
      if (!has_pairs()) return fmt::format("{}, its document {}", source.path, document);
      return fmt::format("{}, its pair {}, the {} answer", source.path, document / 2,
                         document % 2 == 0 ? "chosen" : "rejected");
    }
    document -= source.num_documents;
  }
  return {};
}

SpecialIds boundary_ids(const SpecialIds& special, bool begins, bool ends) {
  SpecialIds out;
  if (begins) out.bos = special.bos;
  if (ends) out.eos = special.eos;
  return out;
}

std::string encoding_text(const Tokenizer& tokenizer, const SpecialIds& boundaries) {
  return fmt::format("{:x}, {}", tokenizer.fingerprint(), to_text(boundaries));
}

void check_encodes_alike(const TokenCard& card, const Tokenizer& tokenizer,
                         const std::string& prefix, std::string_view field) {
  if (card.tokenizer.fingerprint == tokenizer.fingerprint()) return;
  throw DataError(fmt::format(
      "{}: expected the tokenizer of {} ({}{}, vocabulary of {}), got one that encodes otherwise "
      "(vocabulary of {}); set {}, or build the tokens again",
      token_card_path(prefix), prefix, card.tokenizer.class_name,
      card.tokenizer.path.empty() ? "" : " of " + card.tokenizer.path, card.tokenizer.vocab_size,
      tokenizer.vocab_size(), field));
}

void check_tokenizer(const TokenCard& card, const Tokenizer& tokenizer, const std::string& prefix,
                     std::string_view field) {
  check_encodes_alike(card, tokenizer, prefix, field);
  const SpecialIds own = boundary_ids(tokenizer.special_ids(), card.begins, card.ends);
  if (card.boundaries() == own) return;
  throw DataError(fmt::format(
      "{}: expected a tokenizer whose documents begin and end as those of {} ({}), got one with "
      "{}; set {}, or build the tokens again",
      token_card_path(prefix), prefix, to_text(card.boundaries()), to_text(own), field));
}

std::string state_of_file(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return "missing";
  return fmt::format("{} bytes, changed at {}.{:09}", info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

std::string text_of_progress(const BuildProgress& progress) {
  auto sources = nlohmann::ordered_json::array();
  for (const HashedFile& source : progress.sources) sources.push_back(to_json(source));
  nlohmann::ordered_json out = {{"job", fmt::format("{:016x}", progress.job)},
                                {"sources", sources},
                                {"taken", progress.num_taken},
                                {"next_file", progress.next_file},
                                {"documents", progress.counts.num_documents},
                                {"tokens", progress.counts.num_tokens},
                                {"text_bytes", progress.text_bytes},
                                {"piece_bytes", progress.piece_bytes},
                                {"learned", progress.num_learned},
                                {"skipped", to_json(progress.skipped)}};
  progress.remarks.add_to(out);
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::optional<BuildProgress> read_progress(const std::string& path) {
  if (!path_exists(path)) return std::nullopt;
  const std::string text = storage_error_as<DataError>([&] { return read_file(path); });
  return json_as<DataError>(path, [&] {
    const nlohmann::ordered_json document = read_json(text);
    const JsonView json(document);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;
    const auto number = [&](const char* name) { return json.at(name).integer(0, kMost); };
    // Builds of texts had no such counts.
    const auto count = [&](const char* name) {
      const auto found = json.find(name);
      return found ? found->integer(0, kMost) : 0;
    };
    BuildProgress out{.num_taken = number("taken"),
                      .next_file = json.at("next_file").text(),
                      .counts = {number("documents"), number("tokens")},
                      .text_bytes = json.at("text_bytes").integer(-kMost, kMost),
                      .piece_bytes = number("piece_bytes"),
                      .num_learned = count("learned"),
                      .remarks = Remarks::of(json),
                      .skipped = skipped_of(json.at("skipped").json())};
    out.job = hexadecimal(json.at("job"));
    for (const JsonView& source : json.at("sources").elements())
      out.sources.push_back(hashed_file_of(source));
    return out;
  });
}

}  // namespace axle
