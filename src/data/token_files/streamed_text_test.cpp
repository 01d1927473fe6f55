#include "data/token_files/streamed_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <set>

#include "data/prefetcher.h"
#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Input> build(const TextInput::Config& cfg, uint64_t seed = 1) {
  return Child<Input>(cfg).build({.vocab_size = 257, .seed = seed}, {.path = "input"});
}

std::vector<int32_t> values(const Batch& batch, std::string_view name) {
  const auto span = batch.tensors.find(name)->second.values<int32_t>();
  return {span.begin(), span.end()};
}

// A text of this number, about 60 bytes long.
std::string line_of(int64_t i) {
  return fmt::format("line {} of a text, as good as {} other ones, café.\n", i, i * i % 977);
}

class StreamedTextTest : public ::testing::Test {
 protected:
  StreamedTextTest() {
    make_directories(dir_ / "in/deep");
    for (int file = 0; file < 5; ++file) {
      std::string text;
      for (int i = 0; i < 40 + 9 * file; ++i) {
        text += line_of(1000 * file + i);
        if (i % 7 == 6) text += "\n";
      }
      replace_file(dir_ / fmt::format("in/{}{}.txt", file % 2 ? "deep/" : "", file), text);
    }
    replace_file(dir_ / "in/notes.md", "no");
  }
  TextInput::Config config(int64_t memory_bytes = 100, int64_t batch_size = 2) const {
    return {.source = TextSource::Config{.path = dir_ / "in", .unit = DocumentUnit::kParagraph},
            .seq_len = 64,
            .batch_size = batch_size,
            .memory_bytes = memory_bytes};
  }
  // Files of tokens in the cache.
  std::vector<std::string> cached() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache")) {
      if (entry.path().extension() == ".idx") out.push_back(entry.path().string());
    }
    return out;
  }
  // The labels of an epoch with the tokens before them, each so often.
  static std::map<std::vector<int32_t>, int> segments_of(Input& input) {
    std::map<std::vector<int32_t>, int> out;
    while (const auto batch = input.next()) {
      const auto ids = values(*batch, "input_ids"), labels = values(*batch, "target_labels");
      for (size_t i = 0; i < ids.size(); ++i) {
        if (labels[i] != kIgnoredLabel) ++out[{ids[i], labels[i]}];
      }
    }
    return out;
  }
  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "cache"};
};

// An epoch shows the same tokens, whether they are in memory or in a file.
TEST_F(StreamedTextTest, TokensMatchTextInMemory) {
  for (const DocumentUnit unit :
       {DocumentUnit::kFile, DocumentUnit::kParagraph, DocumentUnit::kLine}) {
    const auto whole = [&](int64_t memory_bytes) {
      TextInput::Config cfg = config(memory_bytes);
      cfg.source.get_if<TextSource>()->unit = unit;
      cfg.epochs = 1;
      return cfg;
    };
    const auto streamed = build(whole(100)), in_memory = build(whole(1 << 20));
    const InputFacts one = streamed->facts(), other = in_memory->facts();
    EXPECT_EQ(one.num_documents, other.num_documents);
    EXPECT_EQ(one.num_tokens, other.num_tokens);
    EXPECT_EQ(one.num_bytes, other.num_bytes);
    EXPECT_EQ(to_text(one), to_text(other));
    EXPECT_EQ(segments_of(*streamed), segments_of(*in_memory));
    EXPECT_EQ(cached().size(), 1u + static_cast<size_t>(unit));
  }
}

// Rows are packed alike in memory and from a file, for any choice of packing.
TEST_F(StreamedTextTest, RowsMatchTextInMemoryForEveryPacking) {
  std::set<std::string> found;
  for (const Packing packing : {Packing::kCut, Packing::kWhole, Packing::kBestFit}) {
    for (const auto& [long_documents, text, former] : texts_of(LongDocuments{})) {
      const auto with = [&](int64_t memory_bytes) {
        TextInput::Config cfg = config(memory_bytes);
        cfg.seq_len = 380;
        cfg.shuffle = Shuffle::kNone;
        cfg.epochs = 1;
        cfg.packing = packing;
        cfg.long_documents = long_documents;
        return build(cfg);
      };
      const auto streamed = with(100), in_memory = with(1 << 20);
      EXPECT_EQ(to_text(streamed->facts()), to_text(in_memory->facts())) << text;
      std::string all;
      while (const auto batch = streamed->next()) {
        const auto other = in_memory->next();
        ASSERT_TRUE(other);
        for (const char* name :
             {"input_ids", "target_labels", "input_segment_ids", "input_positions"}) {
          EXPECT_EQ(values(*batch, name), values(*other, name)) << to_text(packing) << text;
          for (const int32_t value : values(*batch, name)) all += fmt::format("{} ", value);
        }
      }
      EXPECT_FALSE(in_memory->next());
      EXPECT_TRUE(found.insert(all).second) << to_text(packing) << " " << text;
    }
  }
}

TEST_F(StreamedTextTest, SmallTextsPromptsAndOtherSourcesAreNotStreamed) {
  EXPECT_TRUE(is_streamed(config()));
  EXPECT_FALSE(is_streamed(config(1 << 20)));
  TextInput::Config cfg = config();
  cfg.prompt = Prompt{};
  EXPECT_FALSE(is_streamed(cfg));
  cfg = config();
  cfg.position_streams = {PositionStream::kToken};
  EXPECT_FALSE(is_streamed(cfg));
  cfg = config();
  cfg.source.get_if<TextSource>()->path = dir_ / "none";
  EXPECT_FALSE(is_streamed(cfg));
  EXPECT_FALSE(is_streamed({}));
  EXPECT_EQ(TextInput::Config{}.memory_bytes, 32 << 20);
}

TEST_F(StreamedTextTest, RowsDependOnSeedAndStepAlone) {
  const auto rows = [&](Input& input, size_t count) {
    std::vector<int32_t> out;
    while (out.size() < 64 * count) {
      for (const int32_t id : values(*input.next(), "input_ids")) out.push_back(id);
    }
    out.resize(64 * count);
    return out;
  };
  const auto first = rows(*build(config(100, 1)), 600);
  EXPECT_EQ(rows(*build(config(100, 7)), 600), first);
  EXPECT_NE(rows(*build(config(100, 1), 2), 600), first);
  Prefetcher ahead(build(config(100, 3)), 4);
  EXPECT_EQ(rows(ahead, 600), first);
  const auto input = build(config(100, 1));
  rows(*input, 400);
  const auto later = build(config(100, 1));
  later->restore(input->state());
  EXPECT_EQ(rows(*later, 200), std::vector<int32_t>(first.begin() + 64 * 400, first.end()));
}

TEST_F(StreamedTextTest, TrainingAndEvaluationShareATokenFileAndNoDocument) {
  std::set<int64_t> documents;
  int64_t count = 0;
  for (const Split split : {Split::kTrain, Split::kHeldOut}) {
    TextInput::Config cfg = config();
    cfg.split = split;
    cfg.epochs = 1;
    const auto input = build(cfg);
    count += input->facts().num_documents;
    for (int64_t batch = 0; batch < input->facts().num_batches; ++batch) {
      for (const RowOrigin& origin : input->origins_of_batch(batch)) {
        EXPECT_THAT(origin.where, HasSubstr(".txt, its document "));
        const size_t colon = origin.where.find(".bin:");
        documents.insert(std::stoll(origin.where.substr(colon + 5)));
      }
    }
  }
  EXPECT_EQ(count, std::ssize(documents));
  EXPECT_EQ(cached().size(), 1u);
}

TEST_F(StreamedTextTest, ChangedTextIsEncodedAgainAndReplacesTheOldTokens) {
  const auto first = build(config());
  const std::vector<std::string> before = cached();
  ASSERT_EQ(before.size(), 1u);
  const auto time = std::filesystem::last_write_time(before[0]);
  build(config());
  EXPECT_EQ(cached(), before);
  EXPECT_EQ(std::filesystem::last_write_time(before[0]), time);
  replace_file(dir_ / "in/0.txt", "another text\n");
  const auto second = build(config());
  ASSERT_EQ(cached().size(), 1u);
  EXPECT_NE(cached(), before);
  EXPECT_THAT(error_of<DataError>([&] { second->restore(first->state()); }),
              HasSubstr("input: expected the data of the saved position"));
  EXPECT_TRUE(first->next()) << "an open input goes on";
}

// A token file holds the ids that end its documents.
TEST_F(StreamedTextTest, EndTokensMatchTextInMemory) {
  replace_file(dir_ / "tokenizer.json", read_file(reference_file("tokenizers/llama3.json")));
  for (const char* eos : {"<|end|>", "<|im_start|>", "<|end|>"}) {
    replace_file(dir_ / "tokenizer_config.json", fmt::format(R"({{"eos_token": "{}"}})", eos));
    const auto with = [&](int64_t memory_bytes) {
      TextInput::Config cfg = config(memory_bytes);
      cfg.tokenizer = HuggingFaceTokenizer::Config{.path = dir_ / "tokenizer.json"};
      cfg.epochs = 1;
      return Child<Input>(cfg).build({.vocab_size = 700, .seed = 1}, {.path = "input"});
    };
    EXPECT_EQ(segments_of(*with(100)), segments_of(*with(1 << 20))) << eos;
  }
  EXPECT_EQ(cached().size(), 2u) << "the first is found again";
}

TEST_F(StreamedTextTest, ConcurrentInputsEncodeATextOnce) {
  std::vector<std::future<std::string>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::async(std::launch::async, [&] {
      const auto input = build(config());
      return input->state();
    }));
  }
  const std::string state = all[0].get();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(all[i].get(), state);
  EXPECT_EQ(cached().size(), 1u);
}

TEST_F(StreamedTextTest, NonTextFilesAreHandledAsInMemory) {
  replace_file(dir_ / "in/x.txt", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
  replace_file(dir_ / "in/y.txt", " \n");
  replace_file(dir_ / "in/z.txt", "caf\xe9\n");
  const std::string streamed = error_of<DataError>([&] { build(config()); });
  EXPECT_EQ(streamed, error_of<DataError>([&] { build(config(1 << 20)); }));
  EXPECT_THAT(streamed, AllOf(HasSubstr("x.txt: expected plain UTF-8 text, got JSON"),
                              HasSubstr("; --set input.source.on_error=skip leaves it out")));
  const auto skipped = [&](int64_t memory_bytes) {
    TextInput::Config cfg = config(memory_bytes);
    cfg.source.get_if<TextSource>()->on_error = OnError::kSkip;
    return to_text(build(cfg)->facts());
  };
  const std::string found = skipped(100);
  EXPECT_EQ(found, skipped(1 << 20));
  EXPECT_EQ(found, skipped(100)) << "found in the cache";
  EXPECT_THAT(found, HasSubstr("4 skipped (1 JSON: x.txt; 1 empty: y.txt; 1 not *.txt: notes.md; "
                               "1 not UTF-8: z.txt"));
}

TEST_F(StreamedTextTest, MissingCacheFolderIsReportedWithAdvice) {
  EnvironmentChange xdg("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt);
  EXPECT_THAT(error_of([&] { build(config()); }),
              AllOf(HasSubstr("input: expected a folder for the tokens, got none; "),
                    HasSubstr("set XDG_CACHE_HOME, or keep them in memory by --set "
                              "input.memory_bytes=")));
}

// The parts of a file are its text, whole lines as far as they fit.
TEST_F(StreamedTextTest, LongFilesAreReadInPartsAtLineEnds) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += line_of(i);
  for (int i = 0; i < 200; ++i) text += "é";  // a line of more than a part
  text += "\nthe end";
  replace_file(dir_ / "long.txt", "\xef\xbb\xbf" + text);
  for (const int64_t most : {4, 7, 100, 101, 1000, 100'000}) {
    CorpusReader reader(dir_ / "long.txt", {.only_plain_text = true, .part_bytes = most});
    std::string joined;
    bool has_ended = false;
    while (const auto part = reader.next()) {
      EXPECT_FALSE(has_ended);
      EXPECT_EQ(part->begins, joined.empty());
      EXPECT_EQ(part->line, 1 + std::ranges::count(joined, '\n'));
      EXPECT_LE(std::ssize(part->bytes), most);
      EXPECT_NE(static_cast<unsigned char>(part->bytes[0]) & 0xc0, 0x80);
      if (most == 1000) {
        const bool is_cut = part->bytes.back() != '\n';
        EXPECT_EQ(is_cut, part->ends);
      }
      joined += part->bytes;
      has_ended = part->ends;
    }
    EXPECT_TRUE(has_ended);
    EXPECT_EQ(joined, text);
  }
}

// 64 MB of text, whose tokens would take 256 MB. The file is one document.
TEST_F(StreamedTextTest, MemoryDoesNotGrowWithTheText) {
  {
    FileWriter file(dir_ / "big.txt");
    std::string lines;
    for (int64_t i = 0; lines.size() < 1'000'000; ++i) lines += line_of(i);
    while (file.size() < 64'000'000) file.write(lines);
  }
  TextInput::Config cfg{.source = TextSource::Config{.path = dir_ / "big.txt"},
                        .seq_len = 512,
                        .batch_size = 8,
                        .split = Split::kTrain};
  ASSERT_TRUE(is_streamed(cfg));
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  const auto input = build(cfg);
  for (int i = 0; i < 50; ++i) input->next();
  EXPECT_LT(peak_resident_bytes() - before, int64_t{64} << 20);
  EXPECT_GE(input->facts().num_documents, 230);
  EXPECT_EQ(input->facts().num_files, 1);
}

}  // namespace
}  // namespace axle
