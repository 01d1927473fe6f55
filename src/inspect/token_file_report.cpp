#include "inspect/token_file_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "config/missing.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"
#include "train/folder/run_folder.h"

namespace axle {
namespace {

constexpr std::string_view kBytes = "bytes";
constexpr int64_t kShownTokens = 16;

// The tokenizer of the card if it can be built and is still the same.
std::unique_ptr<Tokenizer> tokenizer_of(const TokenCard& card) {
  try {
    const std::string& path = card.tokenizer.path;
    auto out = tokenizer_named(path.empty() ? std::string(kBytes) : path, "--tokenizer")
                   .build({}, {.path = "tokenizer"});
    if (out->fingerprint() == card.tokenizer.fingerprint) return out;
  } catch (const Error&) {
    // Shown without texts.
  }
  return nullptr;
}

void check_hash(const std::string& path, const HashedFile& expected) {
  const int64_t bytes = file_bytes(path);
  if (bytes != expected.num_bytes) {
    throw DataError(fmt::format("{}: expected {} bytes, as its card says, got {}", path,
                                expected.num_bytes, bytes));
  }
  const std::string hash = storage_error_as<DataError>([&] { return sha256_of_file(path); });
  if (hash != expected.sha256) {
    throw DataError(fmt::format("{}: expected the SHA-256 {}, as its card says, got {}", path,
                                printable(expected.sha256), hash));
  }
}

std::string length_range(size_t i) {
  if (i == 0) return "0";
  const int64_t low = int64_t{1} << (i - 1), high = 2 * low - 1;
  return low == high ? fmt::format("{}", low) : fmt::format("{}-{}", low, high);
}

// A line about the flags of a token file; "" if it has none.
std::string learned_text(const TokenCard& card) {
  if (!card.learned) return {};
  const LearnedCard& learned = *card.learned;
  std::string out = fmt::format("learned: {} of {} ({:.1f}%)", learned.num_learned,
                                counted(card.num_tokens, "token"),
                                100.0 * static_cast<double>(learned.num_learned) /
                                    static_cast<double>(std::max<int64_t>(card.num_tokens, 1)));
  if (card.has_pairs())
    out += fmt::format("; {} of answers", counted(card.num_documents / 2, "pair"));
  for (const std::string& end : learned.spelled_ends) out += "\n" + spelled_end_text(end);
  return out + "\n";
}

// A line about documents that are not as in their files; "" if there are none.
std::string remarks_text(const TokenCard& card) {
  const std::vector<std::string> remarks = card.remarks.texts();
  return remarks.empty() ? "" : fmt::format("{}\n", fmt::join(remarks, ", "));
}

// Reads all flags, and compares them with the card. Their file is that of `ids`.
int64_t check_flags(const TokenFile& ids, const std::optional<TokenCard>& card) {
  const std::string prefix = learned_prefix(ids.prefix());
  if (!is_token_file(prefix) && !(card && card->learned)) return -1;
  const TokenFile flags(prefix);
  if (card && card->learned) {
    check_hash(flags.index_path(), card->learned->index);
    check_hash(flags.ids_path(), card->learned->flags);
  }
  if (flags.num_documents() != ids.num_documents()) {
    throw DataError(fmt::format("{}: expected flags of {}, got those of {}", flags.index_path(),
                                counted(ids.num_documents(), "document"), flags.num_documents()));
  }
  std::atomic<int64_t> num_learned = 0;
  parallel_for(flags.num_documents(), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (flags.length(i) != ids.length(i)) {
        throw DataError(fmt::format("{}: document {}: expected {} flags, one for each id, got {}",
                                    flags.ids_path(), i, ids.length(i), flags.length(i)));
      }
      num_learned += std::ranges::count_if(flags.ids_of(i), [](int32_t flag) { return flag != 0; });
    }
  });
  return num_learned;
}

double mean_of(const TokenFileFacts& f) {
  return f.num_documents == 0
             ? 0
             : static_cast<double>(f.num_tokens) / static_cast<double>(f.num_documents);
}

}  // namespace

Child<Tokenizer> tokenizer_named(const std::string& name, std::string_view field) {
  if (name == kBytes && !path_exists(path_of_text(name))) return ByteTokenizer::Config{};
  return tokenizer_in_file(name, field);
}

std::string to_text(const TokenBuildProgress& p, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(p.text_bytes) / seconds : 0;
  return fmt::format("{}/{} files, {}, {}, {} of text, {}/s", p.num_files_done, p.num_files,
                     counted(p.num_documents, "document"), counted(p.num_tokens, "token"),
                     bytes_text(p.text_bytes), bytes_text(rate));
}

std::string to_text(const TokenBuildResult& r) {
  const TokenCard& c = r.card;
  if (!r.is_finished) {
    return fmt::format("stopped behind {}; the same command continues\n",
                       counted(r.num_documents, "document"));
  }
  std::string out = fmt::format(
      "{}{}: {}, {}, {}, {:.3f} bytes a token\n", c.ids.path, r.was_there ? " is there" : "",
      counted(std::ssize(c.sources), "file"), counted(c.num_documents, "document"),
      counted(c.num_tokens, "token"),
      static_cast<double>(c.text_bytes) / static_cast<double>(std::max<int64_t>(c.num_tokens, 1)));
  if (r.num_continued > 0)
    out += fmt::format("continued behind {}\n", counted(r.num_continued, "document"));
  out += learned_text(c) + remarks_text(c);
  if (c.skipped.count > 0) out += to_text(c.skipped) + "\n";
  return out;
}

nlohmann::ordered_json to_json(const TokenBuildResult& r) {
  nlohmann::ordered_json out = {{"is_finished", r.is_finished},
                                {"was_there", r.was_there},
                                {"num_documents", r.num_documents},
                                {"num_continued", r.num_continued}};
  if (!r.is_finished) return out;
  out["num_files"] = r.card.sources.size();
  out["num_tokens"] = r.card.num_tokens;
  out["text_bytes"] = r.card.text_bytes;
  if (r.card.learned) {
    out["num_learned"] = r.card.learned->num_learned;
  }
  r.card.remarks.add_to(out, "num_");
  out["skipped"] = to_json(r.card.skipped);
  return out;
}

TokenFileFacts token_file_facts(const std::string& name, const Child<Tokenizer>& tokenizer,
                                int64_t num_first) {
  const TokenFile file(name);
  TokenFileFacts out{.prefix = file.prefix(),
                     .dtype = file.dtype(),
                     .num_documents = file.num_documents(),
                     .num_tokens = file.num_tokens(),
                     .card = read_token_card(file.prefix())};
  for (int64_t i = 0; i < file.num_documents(); ++i) {
    const int64_t length = file.length(i);
    out.shortest = i == 0 ? length : std::min(out.shortest, length);
    out.longest = std::max(out.longest, length);
    const auto bin = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length)));
    if (out.histogram.size() <= bin) out.histogram.resize(bin + 1);
    ++out.histogram[bin];
  }
  std::unique_ptr<Tokenizer> built;
  if (tokenizer) {
    built = tokenizer.build({}, {.path = "tokenizer"});
    if (out.card) check_encodes_alike(*out.card, *built, out.prefix, "--tokenizer");
  } else if (out.card) {
    built = tokenizer_of(*out.card);
  }
  for (int64_t i = 0; i < std::min(num_first, file.num_documents()); ++i) {
    TokenFileFacts::Beginning one{.length = file.length(i)};
    one.ids.resize(std::min(one.length, kShownTokens));
    file.read(i, 0, one.ids, built ? built->vocab_size() : int64_t{1} << 31);
    if (built) one.text = built->decode(one.ids);
    out.first.push_back(std::move(one));
  }
  return out;
}

std::string to_text(const TokenFileFacts& f) {
  std::string out =
      fmt::format("{}: {}, {} as {}\n", f.prefix, counted(f.num_documents, "document"),
                  counted(f.num_tokens, "token"), name_of(f.dtype));
  if (f.card) {
    const TokenizerCard& t = f.card->tokenizer;
    out += fmt::format("tokenizer: {}{}, vocabulary of {}\n", t.class_name,
                       t.path.empty() ? "" : " of " + t.path, t.vocab_size);
    out += fmt::format("made of {}, {} of text\n", counted(std::ssize(f.card->sources), "file"),
                       bytes_text(f.card->text_bytes));
    out += learned_text(*f.card) + remarks_text(*f.card);
    if (f.card->skipped.count > 0) out += to_text(f.card->skipped) + "\n";
  } else {
    out += "tokenizer: not known, there is no card\n";
  }
  out += fmt::format("tokens of a document: {} to {}, mean {:.1f}\n", f.shortest, f.longest,
                     mean_of(f));
  for (size_t i = 0; i < f.histogram.size(); ++i) {
    if (f.histogram[i] == 0) continue;
    out += fmt::format(
        "{:>23} {:>12} {:5.1f}%\n", length_range(i), f.histogram[i],
        100.0 * static_cast<double>(f.histogram[i]) / static_cast<double>(f.num_documents));
  }
  for (size_t i = 0; i < f.first.size(); ++i) {
    std::string ids;
    for (const int32_t id : f.first[i].ids) ids += fmt::format(" {}", id);
    const bool is_cut = std::ssize(f.first[i].ids) < f.first[i].length;
    out += fmt::format("document {}:{}{}\n", i, ids, is_cut ? " ..." : "");
    if (!f.first[i].text.empty()) out += fmt::format("  {}\n", printable(f.first[i].text));
  }
  return out;
}

nlohmann::ordered_json to_json(const TokenFileFacts& f) {
  nlohmann::ordered_json out = {
      {"prefix", f.prefix},         {"dtype", name_of(f.dtype)}, {"num_documents", f.num_documents},
      {"num_tokens", f.num_tokens}, {"shortest", f.shortest},    {"longest", f.longest},
      {"mean", mean_of(f)}};
  auto& histogram = out["histogram"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < f.histogram.size(); ++i)
    histogram.push_back({{"tokens", length_range(i)}, {"documents", f.histogram[i]}});
  auto& first = out["first"] = nlohmann::ordered_json::array();
  for (const auto& one : f.first)
    first.push_back({{"length", one.length}, {"ids", one.ids}, {"text", one.text}});
  if (f.card) out["card"] = nlohmann::ordered_json::parse(text_of_card(*f.card));
  return out;
}

TokenFileCheck verify_token_file(const std::string& name, std::optional<int64_t> vocab_size) {
  const TokenFile file(name);
  TokenFileCheck out{.prefix = file.prefix(),
                     .num_documents = file.num_documents(),
                     .num_tokens = file.num_tokens(),
                     .vocab_size = vocab_size.value_or(0)};
  const auto card = read_token_card(file.prefix());
  if (card) {
    out.has_card = true;
    const int64_t of_card = card->tokenizer.vocab_size;
    out.vocab_size = std::min(of_card, vocab_size.value_or(of_card));
    check_hash(file.index_path(), card->index);
    check_hash(file.ids_path(), card->ids);
    if (card->num_documents != out.num_documents || card->num_tokens != out.num_tokens) {
      throw DataError(fmt::format("{}: expected {} and {}, as its card says, got {} and {}",
                                  file.prefix(), counted(card->num_documents, "document"),
                                  counted(card->num_tokens, "token"), out.num_documents,
                                  out.num_tokens));
    }
  }
  out.num_learned = check_flags(file, card);
  const int64_t limit = out.vocab_size > 0 ? out.vocab_size : int64_t{1} << 31;
  std::mutex mutex;
  parallel_for(file.num_documents(), 64, [&](int64_t begin, int64_t end) {
    constexpr int64_t kAtOnce = int64_t{1} << 18;
    std::vector<int32_t> ids;
    int32_t largest = -1;
    int64_t where = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t length = file.length(i);
      for (int64_t first = 0; first < length; first += kAtOnce) {
        ids.resize(std::min(kAtOnce, length - first));
        file.read(i, first, ids, limit);
        const int32_t most = *std::ranges::max_element(ids);
        if (most > largest) where = i;
        largest = std::max(largest, most);
      }
    }
    const std::lock_guard lock(mutex);
    if (largest > out.largest_id || (largest == out.largest_id && where < out.largest_document)) {
      out.largest_id = largest;
      out.largest_document = where;
    }
  });
  return out;
}

std::string to_text(const TokenFileCheck& c) {
  std::string out = fmt::format("{}: good: {}, {}, largest id {} (document {})", c.prefix,
                                counted(c.num_documents, "document"),
                                counted(c.num_tokens, "token"), c.largest_id, c.largest_document);
  if (c.vocab_size > 0) out += fmt::format(", vocabulary of {}", c.vocab_size);
  if (c.num_learned >= 0) out += fmt::format(", {} learned", counted(c.num_learned, "token"));
  out += c.has_card ? "; hashes as written\n" : "; no card, so hashes are not known\n";
  return out;
}

nlohmann::ordered_json to_json(const TokenFileCheck& c) {
  nlohmann::ordered_json out = {{"prefix", c.prefix},
                                {"num_documents", c.num_documents},
                                {"num_tokens", c.num_tokens},
                                {"vocab_size", c.vocab_size},
                                {"has_card", c.has_card},
                                {"largest_id", c.largest_id},
                                {"largest_document", c.largest_document}};
  if (c.num_learned >= 0) out["num_learned"] = c.num_learned;
  return out;
}

namespace {

// A checkpoint of the run knows the data that its steps were made of.
void check_are_data_of(const std::filesystem::path& run, Input& input) {
  const std::optional<RunMetadata> saved = newest_metadata(run);
  if (!saved) return;
  try {
    restore_input(input, *saved, false);
  } catch (const DataError&) {
    throw DataError(
        fmt::format("{}: expected the data that the run was trained on, got other data; bring back "
                    "the files and the tokenizer as they were",
                    run.string()));
  }
}

}  // namespace

StepOrigins origins_of_step(const Trainer::Config& config, int64_t step,
                            const std::filesystem::path& run) {
  if (config.max_steps.has_value() && step > *config.max_steps) {
    throw ConfigError(
        fmt::format("--step {}: expected a step of the run, which has {} (max_steps), got a later "
                    "one",
                    step, int64_t{*config.max_steps}));
  }
  check_complete(config.model, "model");
  check_complete(config.input, "input");
  const auto model = config.model.build({}, Scope{.path = "model"});
  const auto input = config.input.build(
      {.vocab_size = model->vocab_size(), .seed = static_cast<uint64_t>(config.seed)},
      Scope{.path = "input"});
  check_are_data_of(run, *input);
  StepOrigins out{.step = step, .parts = input->origins_of_batch(step - 1)};
  if (out.parts.empty()) {
    throw ConfigError(fmt::format(
        "--step {}: expected a step whose batch has documents, got one {}", step,
        input->origins_of_batch(0).empty() ? "of an input without them" : "behind the data"));
  }
  return out;
}

std::string to_text(const StepOrigins& origins) {
  std::string out;
  for (const RowOrigin& part : origins.parts) {
    out += fmt::format("row {}: {}, tokens {} to {}\n", part.row, part.where, part.from,
                       part.from + part.count);
  }
  return out;
}

nlohmann::ordered_json to_json(const StepOrigins& origins) {
  auto parts = nlohmann::ordered_json::array();
  for (const RowOrigin& part : origins.parts) {
    parts.push_back({{"row", part.row},
                     {"where", part.where},
                     {"first_token", part.from},
                     {"last_token", part.from + part.count}});
  }
  return {{"step", origins.step}, {"parts", parts}};
}

}  // namespace axle
