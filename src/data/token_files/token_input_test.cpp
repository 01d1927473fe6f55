#include "data/token_files/token_input.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "data/prefetcher.h"
#include "data/text_input.h"
#include "data/token_files/build_token_file.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Row = std::vector<int32_t>;

std::unique_ptr<Input> build(const Child<Input>& cfg, uint64_t seed = 1) {
  return cfg.build({.vocab_size = 60'000, .seed = seed}, {.path = "input"});
}

std::vector<int32_t> values(const Batch& batch, std::string_view name) {
  const auto span = batch.tensors.find(name)->second.values<int32_t>();
  return {span.begin(), span.end()};
}

// The first `count` rows: ids, labels, segments and positions.
std::vector<Row> rows_of(Input& input, size_t count) {
  std::vector<Row> out;
  while (out.size() < count) {
    const auto batch = input.next();
    if (!batch) break;
    const auto width = static_cast<size_t>(input.element_spec().at("input_ids").dims[1]);
    for (size_t i = 0; i < values(*batch, "input_ids").size() / width; ++i) {
      Row row;
      for (const char* name :
           {"input_ids", "target_labels", "input_segment_ids", "input_positions"}) {
        const auto all = values(*batch, name);
        row.insert(row.end(), all.begin() + static_cast<int64_t>(i * width),
                   all.begin() + static_cast<int64_t>((i + 1) * width));
      }
      out.push_back(row);
    }
  }
  out.resize(std::min(out.size(), count));
  return out;
}

class TokenInputTest : public ::testing::Test {
 protected:
  // Documents of 1 to 40 ids, all of them different.
  void write(const std::string& name, int documents, int32_t first_id = 0) {
    TokenFileWriter writer(dir_ / name, DType::kU16);
    int32_t id = first_id;
    for (int d = 0; d < documents; ++d) {
      std::vector<int32_t> ids(static_cast<size_t>(1 + d * 23 % 40));
      for (int32_t& one : ids) one = id++;
      writer.add(ids);
    }
    writer.finish();
  }
  TokenInput::Config config(const std::vector<std::string>& names, int64_t batch_size = 2) const {
    TokenInput::Config out{.tokenizer = ByteTokenizer::Config{.vocab_size = 60'000},
                           .seq_len = 16,
                           .batch_size = batch_size};
    for (const std::string& name : names) out.sources[name].path = dir_ / name;
    return out;
  }
  TempDir dir_;
};

// Each id but the first of a document is a label once in an epoch, behind the one before it.
TEST_F(TokenInputTest, AnEpochShowsEveryTokenOnce) {
  write("a", 700);
  write("b", 40, 30'000);
  for (const Packing packing : {Packing::kCut, Packing::kWhole, Packing::kBestFit}) {
    for (const bool has_weights : {false, true}) {
      TokenInput::Config cfg = config({"a", "b"}, 5);
      cfg.epochs = 1;
      cfg.packing = packing;
      if (has_weights) {
        cfg.sources["a"].weight = 0.6;
        cfg.sources["b"].weight = 0.4;
      }
      const auto input = build(cfg);
      std::map<int32_t, int32_t> seen;  // label -> input
      int64_t num_targets = 0;
      while (const auto batch = input->next()) {
        num_targets += batch->num_targets;
        const auto ids = values(*batch, "input_ids"), labels = values(*batch, "target_labels");
        const auto segments = values(*batch, "input_segment_ids");
        const auto positions = values(*batch, "input_positions");
        for (size_t i = 0; i < ids.size(); ++i) {
          EXPECT_EQ(labels[i] == kIgnoredLabel, segments[i] == 0);
          if (segments[i] == 0) continue;
          EXPECT_TRUE(seen.emplace(labels[i], ids[i]).second);
          EXPECT_EQ(labels[i], ids[i] + 1);
          const bool goes_on = i % 16 > 0 && segments[i] == segments[i - 1];
          EXPECT_EQ(positions[i], goes_on ? positions[i - 1] + 1 : 0);
        }
      }
      EXPECT_EQ(num_targets, std::ssize(seen));
      EXPECT_EQ(num_targets, input->facts().num_tokens - 740);
      EXPECT_EQ(input->facts().num_batches, (input->facts().num_rows + 4) / 5);
    }
  }
}

TEST_F(TokenInputTest, OrderDependsOnSeedAndStepAlone) {
  write("a", 2400);
  write("b", 200, 50'000);
  for (const bool has_weights : {false, true}) {
    const auto config_of = [&](int64_t batch_size) {
      TokenInput::Config cfg = config({"a", "b"}, batch_size);
      if (has_weights) {
        cfg.sources["a"].weight = 3;
        cfg.sources["b"] = {.path = dir_ / "b", .weight = 1, .epochs = 4};
      }
      return cfg;
    };
    const auto rows = rows_of(*build(config_of(1)), 9000);
    ASSERT_EQ(rows.size(), 9000u);
    EXPECT_EQ(rows, rows_of(*build(config_of(7)), 9000));
    EXPECT_NE(rows, rows_of(*build(config_of(1), 2), 9000));
    Prefetcher ahead(build(config_of(3)), 4);
    EXPECT_EQ(rows, rows_of(ahead, 9000));
    // Any step is found at once.
    for (const int step : {0, 1, 500, 1285, 1286, 4000}) {
      const auto input = build(config_of(2));
      std::string state = input->state();
      const size_t at = state.find("\"next_row\":0");
      ASSERT_NE(at, state.npos);
      state.replace(at, 12, fmt::format("\"next_row\":{}", 2 * step));
      input->restore(state);
      EXPECT_EQ(rows_of(*input, 2),
                std::vector<Row>(rows.begin() + 2 * step, rows.begin() + 2 * step + 2));
    }
  }
}

TEST_F(TokenInputTest, EpochsHaveTheSameRowsInAnotherOrder) {
  write("a", 900);
  const auto input = build(config({"a"}, 1));
  const auto count = static_cast<size_t>(input->facts().num_rows);
  auto first = rows_of(*input, count), second = rows_of(*input, count);
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, second);
}

TEST_F(TokenInputTest, DocumentsAreShuffledOverTheWholeFile) {
  write("a", 900);
  TokenInput::Config cfg = config({"a"}, 1);
  int64_t near = 0, all = 0;
  for (const Row& row : rows_of(*build(cfg), 800)) {
    for (size_t i = 1; i < 16; ++i) {
      if (row[32 + i] == 0 || row[32 + i] == row[32 + i - 1]) continue;  // no new segment
      ++all;
      near += std::abs(row[i] - row[i - 1]) < 100;
    }
  }
  EXPECT_GT(all, 300);
  EXPECT_LT(near, all / 20);
  cfg.shuffle = Shuffle::kNone;
  const auto in_order = rows_of(*build(cfg), 800);
  for (size_t i = 1; i < in_order.size(); ++i) EXPECT_GT(in_order[i][0], in_order[i - 1][0]);
}

TEST_F(TokenInputTest, SplitsAreDisjointWhateverTheSeed) {
  write("a", 2345);
  std::set<int32_t> held, trained;
  for (const Split split : {Split::kHeldOut, Split::kTrain}) {
    for (const uint64_t seed : {1, 2}) {
      TokenInput::Config cfg = config({"a"}, 1);
      cfg.epochs = 1;
      cfg.split = split;
      std::set<int32_t> ids;
      const auto input = build(cfg, seed);
      while (const auto batch = input->next()) {
        for (const int32_t label : values(*batch, "target_labels"))
          if (label != kIgnoredLabel) ids.insert(label);
      }
      EXPECT_EQ(input->facts().num_documents, split == Split::kHeldOut ? 117 : 2228);
      std::set<int32_t>& before = split == Split::kHeldOut ? held : trained;
      if (!before.empty()) {
        EXPECT_EQ(before, ids);
      }
      before = ids;
    }
  }
  for (const int32_t id : held) EXPECT_FALSE(trained.contains(id));
  TokenInput::Config cfg = config({"a"}, 1);
  cfg.split = Split::kHeldOut;
  cfg.held_out_fraction = 1e-5;
  EXPECT_EQ(build(cfg)->facts().num_documents, 1);
  cfg.held_out_fraction = 0;
  EXPECT_THAT(error_of<DataError>([&] { build(cfg); }),
              HasSubstr("input.sources.a: expected enough documents for the split 'held_out'"));
}

TEST_F(TokenInputTest, LongDocumentsAreSplitTruncatedOrLeftOut) {
  write("a", 400);
  const auto facts_of = [&](LongDocuments what) {
    TokenInput::Config cfg = config({"a"}, 1);
    cfg.long_documents = what;
    cfg.packing = Packing::kBestFit;
    cfg.epochs = 1;
    const auto input = build(cfg);
    int64_t targets = 0;
    while (const auto batch = input->next()) targets += batch->num_targets;
    return std::pair(targets, input->facts());
  };
  // Lengths are 1 to 40 ids, ten times each; documents of 18 or more are longer than a row.
  const auto [split, of_split] = facts_of(LongDocuments::kSplit);
  EXPECT_EQ(split, 10 * 39 * 40 / 2);
  const auto [truncated, of_truncated] = facts_of(LongDocuments::kTruncate);
  EXPECT_EQ(truncated, 10 * (16 * 17 / 2 + 23 * 16));
  EXPECT_THAT(to_text(of_truncated), StartsWith("1 file, 230 documents cut to a row; "));
  const auto [skipped, of_skipped] = facts_of(LongDocuments::kSkip);
  EXPECT_EQ(skipped, 10 * 16 * 17 / 2);
  EXPECT_THAT(to_text(of_skipped), StartsWith("1 file, 230 skipped (230 longer than a row); "));
}

// With flags, a long document ends behind the last answer that ends in its row.
TEST_F(TokenInputTest, LongConversationsAreCutAfterAnAnswer) {
  // Documents as flags, of ids that count on; a row has 16 positions, so 17 ids.
  const std::vector<std::string> documents = {"0011100111001",        "00111001110011111111",
                                              "00111001110011110",    "001110011100111100",
                                              "00000011111111111111", "11111111111111111111"};
  TokenFileWriter ids(dir_ / "a", DType::kU16), flags(dir_ / "a.learned", DType::kU8);
  int32_t id = 0;
  for (const std::string& one : documents) {
    std::vector<int32_t> of_ids, of_flags;
    for (const char flag : one) {
      of_ids.push_back(id++);
      of_flags.push_back(flag - '0');
    }
    ids.add(of_ids);
    flags.add(of_flags);
  }
  ids.finish();
  flags.finish();
  TokenInput::Config cfg = config({"a"}, 1);
  cfg.epochs = 1;
  cfg.shuffle = Shuffle::kNone;
  cfg.sources["a"].packing = Packing::kWhole;
  cfg.sources["a"].long_documents = LongDocuments::kTruncate;
  const auto input = build(cfg);
  std::vector<int64_t> lengths;
  while (const auto batch = input->next()) {
    const auto segments = values(*batch, "input_segment_ids");
    lengths.push_back(std::ranges::count_if(segments, [](int32_t s) { return s > 0; }));
  }
  // The fifth has no answer that ends in the row; of the last all is learned.
  EXPECT_EQ(lengths, (std::vector<int64_t>{12, 9, 16, 15, 16}));
  EXPECT_EQ(input->facts().num_truncated, 4);
}

TEST_F(TokenInputTest, WeightsHoldOverEveryPrefix) {
  write("a", 500);
  write("b", 500, 15'000);
  write("c", 500, 30'000);
  TokenInput::Config cfg = config({"a", "b", "c"}, 1);
  cfg.sources["a"].weight = 0.5;
  cfg.sources["b"].weight = 0.3;
  cfg.sources["c"].weight = 0.2;
  std::vector<double> counts(3);
  const auto input = build(cfg);
  for (int n = 1; n <= 3000; ++n) {
    const int32_t id = values(*input->next(), "input_ids")[0];
    ++counts[id / 15'000];
    EXPECT_LE(std::abs(counts[0] - 0.5 * n), 0.75 + 1e-9);
    EXPECT_LE(std::abs(counts[1] - 0.3 * n), 0.75 + 1e-9);
    EXPECT_LE(std::abs(counts[2] - 0.2 * n), 0.75 + 1e-9);
  }
}

TEST_F(TokenInputTest, SourcesHaveEpochsAndLimitsOfTheirOwn) {
  write("a", 500);
  write("b", 100, 30'000);
  TokenInput::Config cfg = config({"a", "b"}, 1);
  cfg.sources["a"] = {.path = dir_ / "a", .weight = 1, .max_documents = 50};
  cfg.sources["b"] = {.path = dir_ / "b", .weight = 1, .epochs = 3};
  cfg.epochs = 1;
  const auto input = build(cfg);
  std::map<int32_t, int> seen;
  while (const auto batch = input->next()) {
    for (const int32_t label : values(*batch, "target_labels"))
      if (label != kIgnoredLabel) ++seen[label];
  }
  int64_t of_a = 0, of_b = 0;
  for (const auto& [id, times] : seen) {
    EXPECT_EQ(times, id < 30'000 ? 1 : 3);
    ++(id < 30'000 ? of_a : of_b);
  }
  const TokenFile a(dir_ / "a");
  int64_t wanted = 0;
  for (int64_t i = 0; i < 50; ++i) wanted += a.length(i) - 1;
  EXPECT_EQ(of_a, wanted);
  EXPECT_EQ(of_b, TokenFile(dir_ / "b").num_tokens() - 100);
}

TEST_F(TokenInputTest, OriginsNameTheDocumentsOfAStep) {
  replace_file(dir_ / "x.jsonl", "{\"text\":\"first text\"}\n{\"text\":\"second text\"}\n");
  replace_file(dir_ / "y.txt", "third text");
  build_token_file({.sources = {dir_ / "x.jsonl", dir_ / "y.txt"},
                    .tokenizer = ByteTokenizer::Config{},
                    .prefix = dir_ / "t"});
  TokenInput::Config cfg = config({"t"}, 3);
  cfg.tokenizer = ByteTokenizer::Config{};
  const auto input = build(cfg);
  for (int64_t step = 0; step < 4; ++step) {
    const auto origins = input->origins_of_batch(step);
    const Batch batch = *input->next();
    const auto ids = values(batch, "input_ids"), segments = values(batch, "input_segment_ids");
    const TokenFile file(dir_ / "t");
    std::vector<size_t> filled(3);
    for (const RowOrigin& origin : origins) {
      const size_t colon = origin.where.find(".bin:");
      const int64_t document = std::stoll(origin.where.substr(colon + 5));
      const auto whole = file.ids_of(document);
      for (int64_t i = 0; i < origin.count; ++i)
        EXPECT_EQ(ids[static_cast<size_t>(origin.row * 16) + filled[size_t(origin.row)]++],
                  whole[origin.from + i]);
      EXPECT_THAT(origin.where, HasSubstr(document == 2   ? "y.txt, its document 0)"
                                          : document == 1 ? "x.jsonl, its document 1)"
                                                          : "x.jsonl, its document 0)"));
    }
    for (size_t row = 0; row < 3; ++row) {
      for (size_t i = 0; i < 16; ++i) EXPECT_EQ(segments[16 * row + i] != 0, i < filled[row]);
    }
  }
}

TEST_F(TokenInputTest, TargetBytesMatchTheText) {
  const std::string file = reference_file("tokenizers/llama3.json");
  replace_file(dir_ / "x.txt",
               std::string("Text with caf\xc3\xa9 and more words. ") + "And so on.");
  const TokenBuildResult built =
      build_token_file({.sources = {dir_ / "x.txt"},
                        .tokenizer = HuggingFaceTokenizer::Config{.path = file},
                        .tokenizer_path = file,
                        .prefix = dir_ / "t"});
  TokenInput::Config cfg = config({"t"}, 1);
  cfg.tokenizer = HuggingFaceTokenizer::Config{.path = file};
  cfg.epochs = 1;
  double bytes = 0;
  const auto input = build(cfg);
  while (const auto batch = input->next()) bytes += batch->num_target_bytes;
  EXPECT_NEAR(bytes, static_cast<double>(built.card.text_bytes), 1e-9);
}

TEST_F(TokenInputTest, MistakesAreNamed) {
  write("a", 40);
  EXPECT_THAT(error_of([&] { build(config({})); }),
              HasSubstr("input.sources: expected a token file, got none"));
  TokenInput::Config cfg = config({"a"});
  cfg.sources["b"].path = dir_ / "a";
  cfg.sources["b"].weight = 1;
  EXPECT_THAT(
      error_of([&] { build(cfg); }),
      HasSubstr("input.sources: expected weights for all sources or for none, got 1 for 2"));
  cfg = config({"a"});
  cfg.sources["a"].epochs = 2;
  EXPECT_THAT(error_of([&] { build(cfg); }),
              HasSubstr("input.sources.a.epochs: expected a source with a weight"));
  EXPECT_THAT(error_of<DataError>([&] { build(config({"none"})); }),
              AllOf(HasSubstr("input.sources.none.path: "),
                    HasSubstr("none: expected a token file, or files of texts, of conversations or "
                              "of pairs of answers, got nothing there")));
  for (const char* name : {"damaged.idx", "damaged.bin"}) replace_file(dir_ / name, "no index");
  EXPECT_THAT(error_of<DataError>([&] { build(config({"damaged"})); }), HasSubstr("damaged.idx: "));
  cfg = config({"a"});
  cfg.tokenizer = ByteTokenizer::Config{};
  EXPECT_THAT(error_of<DataError>([&] { build(cfg); }),
              AllOf(HasSubstr("a.bin: document"),
                    HasSubstr("expected ids of 0 to 256 of ByteTokenizer, got ")));
  replace_file(dir_ / "x.txt", "text");
  build_token_file(
      {.sources = {dir_ / "x.txt"},
       .tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/llama3.json")},
       .prefix = dir_ / "t"});
  cfg = config({"t"});
  EXPECT_THAT(error_of<DataError>([&] { build(cfg); }),
              HasSubstr("t.json: expected the tokenizer of"));
}

// Each two documents are a pair: they share a row, and no other does.
TEST_F(TokenInputTest, PairsStayTogether) {
  TokenFileWriter writer(dir_ / "p", DType::kU16);
  for (int pair = 0; pair < 300; ++pair) {
    for (int answer = 0; answer < 2; ++answer)
      writer.add(
          std::vector<int32_t>(static_cast<size_t>(2 + (pair + answer) % 9), 2 * pair + answer));
  }
  writer.finish();
  TokenInput::Config cfg = config({"p"}, 1);
  cfg.epochs = 1;
  cfg.packing = Packing::kPairs;
  cfg.sources["p"].max_documents = 250;
  const auto input = build(cfg);
  const InputFacts facts = input->facts();
  EXPECT_EQ(facts.num_documents, 250);
  EXPECT_EQ(facts.num_rows + facts.skipped.reasons.at("longer than a row"), 250);
  std::set<int32_t> seen;
  for (const Row& row : rows_of(*input, 1000)) {
    const std::set<int32_t> ids(row.begin(), row.begin() + 16);
    const int32_t chosen = row[0], second_at = 1 + chosen / 2 % 9;
    EXPECT_EQ(chosen % 2, 0);
    EXPECT_EQ(row[second_at], chosen + 1);
    for (const int32_t id : ids) EXPECT_TRUE(id == 0 || id / 2 == chosen / 2) << id;
    EXPECT_TRUE(seen.insert(chosen).second);
  }
  EXPECT_EQ(std::ssize(seen), facts.num_rows);
  EXPECT_LT(*seen.rbegin(), 500) << "the first pairs";
  const auto again = build(cfg);
  int64_t num_pairs = 0;
  while (const auto batch = again->next()) {
    for (const int32_t is_pair : batch->tensors.at("is_pair").values<int32_t>())
      num_pairs += is_pair;
  }
  EXPECT_EQ(num_pairs, facts.num_rows) << "rows of padding hold none";
  EXPECT_FALSE(build(config({"p"}))->element_spec().contains("is_pair"));
  write("odd", 3);
  cfg = config({"odd"}, 1);
  cfg.packing = Packing::kPairs;
  EXPECT_THAT(error_of<DataError>([&] { build(cfg); }),
              HasSubstr("input.sources.odd: expected pairs of documents, got 3 in "));
}

TEST_F(TokenInputTest, AStateOfOtherDataIsRefused) {
  write("a", 40);
  write("b", 41);
  const auto input = build(config({"a"}));
  const std::string state = input->state();
  EXPECT_NO_THROW(build(config({"a"}, 5))->restore(state));
  TokenInput::Config other = config({"a"});
  other.packing = Packing::kBestFit;
  EXPECT_THROW(build(other)->restore(state), DataError);
  EXPECT_THROW(build(config({"a"}), 2)->restore(state), DataError);
  TokenInput::Config renamed = config({"b"});
  renamed.sources["a"] = renamed.sources["b"];
  renamed.sources.erase("b");
  EXPECT_THROW(build(renamed)->restore(state), DataError);
}

// 160 MB of ids and an index of 80 MB.
TEST_F(TokenInputTest, MemoryDoesNotGrowWithTheData) {
  {
    TokenFileWriter writer(dir_ / "big", DType::kU16);
    std::vector<int32_t> ids(20);
    for (int32_t i = 0; i < 4'000'000; ++i) {
      ids[0] = i % 60'000;
      writer.add(ids);
    }
    writer.finish();
  }
  TokenInput::Config cfg = config({"big"}, 8);
  cfg.seq_len = 512;
  cfg.packing = Packing::kBestFit;
  const int64_t before = peak_resident_bytes();
  const auto input = build(cfg);
  for (int i = 0; i < 50; ++i) input->next();
  EXPECT_LT(peak_resident_bytes() - before, int64_t{48} << 20);  // 16 MiB are packed windows
}

}  // namespace
}  // namespace axle
