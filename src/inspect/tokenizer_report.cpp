#include "inspect/tokenizer_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "data/data_file.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_card.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"

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

// The ids of what to_json(EncodedText) returns, as a text of ids.
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

namespace {

double bytes_per_token(const TrainedTokenizer& t) {
  return static_cast<double>(t.text_bytes) /
         static_cast<double>(std::max<int64_t>(t.num_tokens, 1));
}

}  // namespace

void check_tokenizer_folder(const std::string& dir) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    const std::filesystem::path file = std::filesystem::path(dir) / name;
    if (path_exists(file)) {
      throw DataError(fmt::format(
          "--out: expected a folder without a tokenizer, got {}; choose another", file.string()));
    }
  }
  const std::filesystem::path folder = dir;
  if (path_exists(folder) && !directory_exists(folder))
    throw DataError(fmt::format("--out: expected a folder to write into, got the file {}", dir));
}

void save_tokenizer(const TrainedTokenizer& trained, const std::string& dir) {
  make_directories(dir);
  for (const auto& [name, text] : trained.files)
    replace_file(std::filesystem::path(dir) / name, text);
}

std::string to_text(const TokenizerTrainingReport& r) {
  const TrainedTokenizer& t = r.trained;
  std::string out = fmt::format(
      "{}: vocabulary of {} (256 bytes, {}{}, {}), {} of text in {}, about {:.3f} bytes a token\n",
      text_of_path((std::filesystem::path(r.dir) / "tokenizer.json").string()), t.vocab_size,
      t.num_characters > 0 ? counted(t.num_characters, "character") + ", " : "",
      counted(t.num_special, "special token"), counted(t.num_merges, "merge"),
      bytes_text(t.text_bytes), counted(t.num_files, "file"), bytes_per_token(t));
  if (t.vocab_size < r.wanted_size) {
    out += fmt::format(
        "warning: the vocabulary is smaller than {}: no other pair comes {} in the text\n",
        r.wanted_size, counted(r.min_frequency, "time"));
  }
  if (t.num_files_cut > 0) {
    out += fmt::format("warning: {} had more text than {} share of --max-text ({:g} GB)\n",
                       counted(t.num_files_cut, "file"), t.num_files_cut == 1 ? "its" : "their",
                       r.max_text_gigabytes);
  }
  if (t.skipped.count > 0) out += to_text(t.skipped) + "\n";
  return out;
}

nlohmann::ordered_json to_json(const TokenizerTrainingReport& r) {
  const TrainedTokenizer& t = r.trained;
  nlohmann::ordered_json out;
  out["dir"] = text_of_path(r.dir);
  out["vocab_size"] = t.vocab_size;
  out["num_special"] = t.num_special;
  out["num_characters"] = t.num_characters;
  out["num_merges"] = t.num_merges;
  out["num_files"] = t.num_files;
  out["num_files_cut"] = t.num_files_cut;
  out["text_bytes"] = t.text_bytes;
  out["num_pieces"] = t.num_pieces;
  out["bytes_per_token"] = bytes_per_token(t);
  out["skipped"] = to_json(t.skipped);
  return out;
}

std::string to_text(const TokenizerTrainingProgress& p, double seconds) {
  if (p.num_tokens > 0) return fmt::format("{}/{} tokens", p.num_tokens, p.vocab_size);
  const double rate = seconds > 0 ? static_cast<double>(p.text_bytes) / seconds : 0;
  return fmt::format("{}/{} files, {} of text, {}/s", p.num_files_done, p.num_files,
                     bytes_text(p.text_bytes), bytes_text(rate));
}

namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr const char *kStdin = "-", *kStdinName = "stdin";

class Counter {
 public:
  Counter(const Tokenizer& tokenizer, const TextsToCount& texts)
      : tokenizer_(tokenizer),
        format_{.field = texts.field.empty() ? CorpusFormat().field : texts.field},
        on_error_(texts.on_error),
        skips_(texts.on_error, "--on-error") {}

  void count_stdin(bool is_json) {
    count(kStdinName, [&] {
      return CorpusReader(kStdinName, stream_of(STDIN_FILENO, kStdinName), is_json, format_);
    });
  }
  void count_files(const std::vector<std::string>& named) {
    const std::vector<std::string> files = corpus_files(named, "--data", skips_);
    if (on_error_ == OnError::kFail)
      check_are_texts(files, format_.field,
                      "axle data build counts the tokens of conversations; --field names another "
                      "field, which holds texts");
    for (const std::string& path : files) count(path, [&] { return CorpusReader(path, format_); });
  }
  TokenCount take() {
    out_.skipped = skips_.skipped();
    return out_;
  }

 private:
  struct Counted {
    CorpusText document;
    int64_t num_bytes = 0, num_tokens = 0;
  };

  template <class Open>
  void count(const std::string& path, const Open& open) {
    const int64_t before = out_.num_bytes;
    read_or_leave_out(path, skips_, [&] {
      CorpusReader reader = open();
      const auto next = [&](int64_t) { return reader.next_block(kBlockBytes); };
      for (auto batch = next_documents(next, kBatchBytes); !batch.empty();
           batch = next_documents(next, kBatchBytes))
        add(path, batch, reader.is_json());
    });
    out_.num_files += out_.num_bytes > before;
  }

  void add(const std::string& path, std::vector<RawDocument>& batch, bool is_json) {
    std::vector<Counted> counted(batch.size());
    parallel_for(std::ssize(batch), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        Counted& one = counted[i];
        one.document = corpus_text(path, std::move(batch[i]), is_json, format_.field);
        if (!one.document.reason.empty()) continue;
        const std::string text = std::exchange(one.document.text, {});
        one.num_bytes = std::ssize(text);
        one.num_tokens = std::ssize(tokenizer_.encode(text));
      }
    });
    for (const Counted& one : counted) {
      if (!one.document.reason.empty()) {
        leave_out(one.document, skips_);
        continue;
      }
      out_.num_documents += one.document.begins;
      out_.num_bytes += one.num_bytes;
      out_.num_tokens += one.num_tokens;
    }
  }

  const Tokenizer& tokenizer_;
  CorpusFormat format_;
  OnError on_error_;
  SkipLog skips_;
  TokenCount out_;
};

}  // namespace

TokenCount count_tokens(const Tokenizer& tokenizer, const TextsToCount& texts) {
  Counter counter(tokenizer, texts);
  std::vector<std::string> files = texts.data;
  // A second one would find nothing.
  if (std::erase(files, kStdin) > 0) counter.count_stdin(!texts.field.empty());
  if (!files.empty()) counter.count_files(files);
  TokenCount out = counter.take();
  if (out.num_bytes == 0) throw DataError(no_document(texts.data, out.skipped));
  return out;
}

std::string to_text(const TokenCount& c) {
  return fmt::format(
      "{}, {}, {}: {:.3f} bytes a token{}{}\n", counted(c.num_files, "file"),
      counted(c.num_bytes, "byte"), counted(c.num_tokens, "token"),
      static_cast<double>(c.num_bytes) / static_cast<double>(std::max<int64_t>(c.num_tokens, 1)),
      c.skipped.count > 0 ? "; " : "", to_text(c.skipped));
}

nlohmann::ordered_json to_json(const TokenCount& c) {
  return {{"num_files", c.num_files},
          {"num_documents", c.num_documents},
          {"num_bytes", c.num_bytes},
          {"num_tokens", c.num_tokens},
          {"skipped", to_json(c.skipped)}};
}

}  // namespace axle
