#include "data/tokenizers/training/train_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "data/data_file.h"
#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/pre_tokenizers.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/training/merges/merge_learner.h"

namespace axle {
namespace {

constexpr int64_t kNumBytes = 256, kBlockBytes = 64 << 10;

int64_t batch_bytes() {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp<int64_t>(cores << 21, int64_t{8} << 20, int64_t{128} << 20);
}

// Returns the special tokens in the order of their ids.
std::vector<std::string> special_tokens(const TokenizerTraining& training) {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, const std::string& text) {
    // A single character may be one of the alphabet, as may the name of a byte.
    if (text.empty() || find_invalid_utf8(text) || text.find('\0') != text.npos ||
        first_code_point(text).size == text.size() || byte_of_token(text)) {
      throw ConfigError(fmt::format("{}: expected a text such as <|endoftext|>, got '{}'", flag,
                                    printable(text)));
    }
    if (std::ranges::find(out, text) == out.end()) out.push_back(text);
  };
  for (const std::string& text : training.special) add("--special", text);
  if (!training.bos.empty()) add("--bos", training.bos);
  if (!training.eos.empty()) add("--eos", training.eos);
  if (!training.pad.empty()) add("--pad", training.pad);
  return out;
}

// Returns what cuts text into the pieces that merges do not leave.
std::vector<PreTokenizer> pieces_of(const TokenizerTraining& training) {
  std::vector<PreTokenizer> out;
  const auto add = [&](std::string_view pattern) {
    out.push_back(
        split_at_pattern(UnicodeRegex(pattern, RegexSyntax::kOniguruma), SplitBehavior::kIsolated));
  };
  if (training.alphabet == Alphabet::kCharacters) {
    if (!training.pattern.empty())
      throw ConfigError("--pattern: expected --alphabet bytes, got characters");
    out.push_back(metaspace(std::string(kMetaSpace), PrependScheme::kNever, true));
    add(kLineEnds);
    return out;
  }
  for (const std::string_view pattern : split_patterns_of(training.pattern, "--pattern"))
    add(pattern);
  return out;
}

class Training {
 public:
  Training(const TokenizerTraining& training,
           const std::function<void(const TokenizerTrainingProgress&)>& report)
      : training_(training),
        report_(report),
        special_(special_tokens(training)),
        skips_(training.on_error, "--on-error") {
    check_vocab_size(0);
    cuts_ = pieces_of(training);
    files_ = corpus_files(training.sources, "SOURCES", skips_);
    if (training.on_error == OnError::kFail)
      check_are_texts(files_, training.field, "--field names another field, which holds texts");
    std::ranges::sort(files_);  // what a file contributes depends on those before it
    progress_.num_files = std::ssize(files_);
    progress_.vocab_size = training.vocab_size;
  }

  TrainedTokenizer run() {
    const std::vector<int64_t> shares = shares_of_files();
    int64_t left = 0;
    for (size_t i = 0; i < files_.size(); ++i)
      left = read_file(files_[i], shares[i] + std::min<int64_t>(left, 0));
    if (text_bytes_ == 0) throw DataError(no_document(training_.sources, skips_.skipped()));
    return learn();
  }

 private:
  void report() const {
    if (report_) report_(progress_);
  }

  void check_vocab_size(int64_t num_characters) const {
    const int64_t fewest = kNumBytes + num_characters + std::ssize(special_);
    if (training_.vocab_size >= fewest) return;
    const std::string characters =
        num_characters > 0 ? fmt::format(", {}", counted(num_characters, "character")) : "";
    throw ConfigError(fmt::format(
        "--vocab-size: expected at least {} ({} bytes{} and {}), got {}", fewest, kNumBytes,
        characters, counted(std::ssize(special_), "special token"), training_.vocab_size));
  }

  // Together they are the limit.
  std::vector<int64_t> shares_of_files() const {
    std::vector<int64_t> out = sizes_of_files(files_);
    double all = 0, before = 0;
    for (int64_t& bytes : out) {
      bytes = std::max<int64_t>(bytes, 1);
      all += static_cast<double>(bytes);
    }
    const double share = static_cast<double>(training_.max_text_bytes) / all;
    int64_t given = 0;
    for (int64_t& bytes : out) {
      before += static_cast<double>(bytes);
      const auto until = static_cast<int64_t>(before * share);
      bytes = until - std::exchange(given, until);
    }
    return out;
  }

  // Counts the pieces of `share` bytes of a file. Returns the bytes that are left: negative where
  // a record, which is read whole, has more.
  int64_t read_file(const std::string& path, int64_t share) {
    std::unique_ptr<CorpusReader> reader;
    std::vector<RawDocument> batch;
    const int64_t before = text_bytes_;
    bool is_read = read_or_leave_out(path, skips_, [&] {
      reader = std::make_unique<CorpusReader>(path, CorpusFormat{.field = training_.field});
    });
    const auto next = [&](int64_t rest) {
      return reader->next_block(static_cast<size_t>(std::min(rest, kBlockBytes)));
    };
    bool is_cut = false;
    while (is_read && share > 0 && !is_cut) {
      is_read = read_or_leave_out(
          path, skips_, [&] { batch = next_documents(next, std::min(share, batch_bytes())); });
      if (!is_read || batch.empty()) break;
      for (RawDocument& document : batch) {
        if (!reader->is_json()) is_cut |= cut_to(share, document);
        share -= std::ssize(document.bytes);
      }
      count(path, batch, reader->is_json());
      check_memory();
      report();
    }
    if (is_read && share <= 0 && !is_cut) {
      read_or_leave_out(path, skips_, [&] {
        const auto more = reader->next_block(1);
        is_cut = more && !trim(more->bytes).empty();
      });
    }
    num_files_cut_ += is_cut;
    ++progress_.num_files_done;
    num_files_read_ += text_bytes_ > before;
    return share;
  }

  // Blocks of text may be longer than a share.
  static bool cut_to(int64_t share, RawDocument& document) {
    constexpr int64_t kLongestCharacter = 4;
    const auto limit = static_cast<size_t>(std::max(share, kLongestCharacter));
    if (document.bytes.size() <= limit) return false;
    document.bytes.resize(size_of_part(document.bytes, limit));
    document.ends = false;
    return true;
  }

  void count(const std::string& path, std::vector<RawDocument>& batch, bool is_json) {
    std::vector<CorpusText> texts(batch.size());
    std::vector<std::unique_ptr<PieceCounts>> tables;
    std::mutex mutex;
    parallel_for(std::ssize(batch), 1, [&](int64_t begin, int64_t end) {
      auto table = std::make_unique<PieceCounts>();
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        texts[i] = corpus_text(path, std::move(batch[i]), is_json, training_.field);
        if (texts[i].reason.empty()) count_pieces(texts[i], *table);
      }
      const std::lock_guard lock(mutex);
      tables.push_back(std::move(table));
    });
    for (const CorpusText& text : texts)
      if (!text.reason.empty()) leave_out(text, skips_);
    parallel_for(PieceCounts::kParts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        for (const auto& table : tables) counts_.add_part(*table, static_cast<size_t>(part));
    });
    progress_.text_bytes = text_bytes_;
  }

  void count_pieces(CorpusText& document, PieceCounts& table) {
    text_bytes_ += std::ssize(document.text);
    Pieces pieces = one_piece(std::exchange(document.text, {}), true);
    for (const PreTokenizer& cut : cuts_) cut(pieces);
    for (const PieceRange& range : pieces.ranges) table.add(pieces.view(range));
  }

  // Learning takes more than the tables that are there: ask before the machine has too little.
  void check_memory() {
    constexpr int64_t kPerPiece = 64, kPerByte = 24, kStep = int64_t{256} << 20;
    const int64_t need = kPerPiece * counts_.num_pieces() + kPerByte * counts_.num_bytes();
    if (need < checked_bytes_ + kStep) return;
    checked_bytes_ = need;
    const auto needs =
        std::to_array<HostNeed>({{.what = "the different pieces of the text", .bytes = need}});
    check_host_memory(needs, host_memory(), "read less text (--max-text)");
  }

  // Merges end where a character is none of the alphabet.
  static void add_words(std::span<const int32_t> symbols, int64_t count, MergeLearner& learner) {
    while (!symbols.empty()) {
      const auto end =
          static_cast<size_t>(std::find(symbols.begin(), symbols.end(), -1) - symbols.begin());
      if (end > 0) learner.add(symbols.first(end), count);
      symbols = symbols.subspan(std::min(end + 1, symbols.size()));
    }
  }

  TrainedTokenizer learn() {
    const auto first_id = static_cast<int32_t>(special_.size());
    const auto symbols = training_.alphabet == Alphabet::kBytes
                             ? byte_symbols(first_id)
                             : character_symbols(first_id, counts_, training_.character_coverage);
    std::vector<std::string> tokens = special_;
    for (std::string& name : symbols->names()) tokens.push_back(std::move(name));
    const int64_t num_characters = std::ssize(tokens) - std::ssize(special_) - kNumBytes;
    check_vocab_size(num_characters);
    // No text is a special token or, where characters merge, the name of a byte.
    std::set<std::string> excluded(special_.begin(), special_.end());
    for (int byte = 0; byte < kNumBytes && num_characters > 0; ++byte)
      excluded.insert(byte_token(static_cast<uint8_t>(byte)));
    MergeLearner learner(std::move(tokens), {.vocab_size = training_.vocab_size,
                                             .min_count = training_.min_frequency,
                                             .excluded = std::move(excluded)});
    TrainedTokenizer out{.num_special = std::ssize(special_),
                         .num_characters = num_characters,
                         .num_files = num_files_read_,
                         .text_bytes = progress_.text_bytes,
                         .num_pieces = counts_.num_pieces(),
                         .num_files_cut = num_files_cut_,
                         .skipped = skips_.skipped()};
    std::vector<int32_t> ids;
    counts_.for_each([&](std::string_view piece, int64_t count) {
      ids.clear();
      symbols->append_ids(piece, ids);
      add_words(ids, count, learner);
    });
    counts_ = {};
    learner.learn([&](int64_t num_tokens) {
      progress_.num_tokens = num_tokens;
      report();
    });
    out.vocab_size = std::ssize(learner.tokens());
    out.num_merges = std::ssize(learner.merges());
    out.num_tokens = learner.num_symbols();
    out.files = trained_files(training_, out.num_special, learner);
    return out;
  }

  const TokenizerTraining& training_;
  const std::function<void(const TokenizerTrainingProgress&)>& report_;
  std::vector<std::string> special_;
  SkipLog skips_;
  std::vector<PreTokenizer> cuts_;
  std::vector<std::string> files_;
  TokenizerTrainingProgress progress_;
  PieceCounts counts_;
  std::atomic<int64_t> text_bytes_ = 0;
  int64_t num_files_read_ = 0, num_files_cut_ = 0;
  int64_t checked_bytes_ = 0;
};

}  // namespace

TrainedTokenizer train_tokenizer(
    const TokenizerTraining& training,
    const std::function<void(const TokenizerTrainingProgress&)>& report) {
  return Training(training, report).run();
}

namespace {

class Bytes final : public SymbolTable {
 public:
  explicit Bytes(int32_t first_id) : ids_(kNumBytes) {
    for (int byte = 0; byte < kNumBytes; ++byte) {
      const auto c = static_cast<char>(byte);
      names_.push_back(to_byte_level({&c, 1}));
    }
    std::ranges::sort(names_);  // UTF-8 sorts as its characters do
    for (const std::string& name : names_)
      ids_[static_cast<uint8_t>((*from_byte_level(name))[0])] = first_id++;
  }
  std::vector<std::string> names() const override { return names_; }
  void append_ids(std::string_view piece, std::vector<int32_t>& ids) const override {
    for (const char c : piece) ids.push_back(ids_[static_cast<uint8_t>(c)]);
  }

 private:
  std::vector<std::string> names_;
  std::vector<int32_t> ids_;
};

class Characters final : public SymbolTable {
 public:
  Characters(int32_t first_id, const PieceCounts& pieces, double coverage) {
    std::unordered_map<char32_t, int64_t> counts;
    int64_t all = 0;
    pieces.for_each([&](std::string_view piece, int64_t count) {
      for_each_code_point(piece, [&](char32_t c) {
        counts[c] += count;
        all += count;
      });
    });
    std::vector<std::pair<char32_t, int64_t>> order(counts.begin(), counts.end());
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.second > b.second || (a.second == b.second && a.first < b.first);
    });
    int64_t covered = 0;
    for (const auto& [c, count] : order) {
      if (static_cast<double>(covered) >= coverage * static_cast<double>(all)) break;
      covered += count;
      characters_.push_back(c);
    }
    std::ranges::sort(characters_);
    first_id += kNumBytes;
    for (const char32_t c : characters_) ids_.emplace(c, first_id++);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (int byte = 0; byte < kNumBytes; ++byte)
      out.push_back(byte_token(static_cast<uint8_t>(byte)));
    for (const char32_t c : characters_) append_utf8(out.emplace_back(), c);
    return out;
  }
  void append_ids(std::string_view piece, std::vector<int32_t>& ids) const override {
    for_each_code_point(piece, [&](char32_t c) {
      const auto found = ids_.find(c);
      ids.push_back(found == ids_.end() ? -1 : found->second);
    });
  }

 private:
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, int32_t> ids_;
};

}  // namespace

std::unique_ptr<SymbolTable> byte_symbols(int32_t first_id) {
  return std::make_unique<Bytes>(first_id);
}

std::unique_ptr<SymbolTable> character_symbols(int32_t first_id, const PieceCounts& pieces,
                                               double coverage) {
  return std::make_unique<Characters>(first_id, pieces, coverage);
}

using Json = nlohmann::ordered_json;

namespace {

// Words with the space before them, also before a text, and line ends.
constexpr const char* kWordSteps = R"({"type": "Sequence", "pretokenizers": [
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": true},
    {"type": "Split", "pattern": {"Regex": "\n+"}, "behavior": "Isolated", "invert": false}]})";
constexpr const char* kWordDecoder = R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

}  // namespace

std::map<std::string, std::string> trained_files(const TokenizerTraining& training,
                                                 int64_t num_special, const MergeLearner& learner) {
  const std::vector<std::string>& tokens = learner.tokens();
  Json added = Json::array(), merges = Json::array();
  for (int64_t id = 0; id < num_special; ++id)
    added.push_back(added_token_entry(id, tokens[id], true));
  // Readers take a line "#version ..." for no merge, unless merges are lists.
  const auto is_version = [&](const MergeLearner::Merge& merge) {
    return tokens[merge.left].starts_with("#version");
  };
  const bool are_lists = std::ranges::any_of(learner.merges(), is_version);
  for (const auto& [left, right] : learner.merges()) {
    const std::string &a = tokens[left], &b = tokens[right];
    merges.push_back(are_lists ? Json::array({a, b}) : Json(a + " " + b));
  }
  std::vector<FrameToken> before;
  if (!training.bos.empty()) {
    const auto at = std::ranges::find(tokens, training.bos) - tokens.begin();
    before.push_back({static_cast<int32_t>(at), training.bos});
  }
  ByteLevelJson tokenizer{.added_tokens = std::move(added),
                          .post_processor = frame_step(before, {}),
                          .vocab = vocabulary_object(tokens),
                          .merges = std::move(merges)};
  if (training.alphabet == Alphabet::kBytes) {
    tokenizer.pre_tokenizer = split_steps(split_patterns_of(training.pattern, "--pattern"));
  } else {
    tokenizer.pre_tokenizer = Json::parse(kWordSteps);
    tokenizer.decoder = Json::parse(kWordDecoder);
    tokenizer.byte_fallback = true;
  }
  Json config;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["clean_up_tokenization_spaces"] = false;
  const auto name = [&](const char* key, const std::string& text) {
    if (!text.empty()) config[key] = text;
  };
  name("bos_token", training.bos);
  name("eos_token", training.eos);
  name("pad_token", training.pad);
  std::map<std::string, std::string> out;
  out["tokenizer.json"] = tokenizer.document().dump(2) + "\n";
  out["tokenizer_config.json"] = config.dump(2) + "\n";
  return out;
}

namespace {

struct Family {
  std::string_view name;
  std::string_view gguf;  // how GGUF files name its patterns
};

// Trained tokenizers have merges, not ranks, so these are the names without "ignore_merges": the
// tokenizer of a trained model can be exported to GGUF.
constexpr std::string_view kDefault = "llama3";
constexpr Family kFamilies[] = {
    {"cl100k", "dbrx"},    {"deepseek-v3", "deepseek-v3"},
    {"gpt2", "gpt-2"},     {"llama3", "dbrx"},
    {"o200k", "gpt-4o"},   {"qwen2", "qwen2"},
    {"qwen3.5", "qwen35"}, {"smollm", "smollm"},
};

}  // namespace

const std::vector<std::string_view>& split_patterns_of(std::string_view family,
                                                       std::string_view where) {
  if (family.empty()) family = kDefault;
  const auto* const found = std::ranges::find(kFamilies, family, &Family::name);
  if (found == std::end(kFamilies)) {
    const std::vector<std::string> names = split_family_names();
    throw ConfigError(fmt::format("{}: expected one of {}, got '{}'{}", where, join(names, ", "),
                                  family, suggest(family, names)));
  }
  return find_gguf_split(found->gguf)->patterns;
}

std::vector<std::string> split_family_names() {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) out.emplace_back(family.name);
  return out;
}

}  // namespace axle
