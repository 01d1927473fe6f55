#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "data/prefetcher.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

std::unique_ptr<Input> build(Child<Input> cfg, uint64_t seed = 1, int64_t vocab_size = 257) {
  return cfg.build({.vocab_size = vocab_size, .seed = seed}, {.path = "input"});
}

std::span<const int32_t> values(const Batch& batch, std::string_view name) {
  return batch.tensors.find(name)->second.values<int32_t>();
}

class TextInputTest : public ::testing::Test {
 protected:
  TextInputTest() {
    for (int i = 0; i < 23; ++i) {
      std::string text = "document " + std::to_string(i) + ":";
      for (int word = 0; word < 3 * i; ++word) text += " " + std::to_string(word * i);
      replace_file(dir_ / (std::to_string(100 + i) + ".txt"), text);
      num_bytes_ += std::ssize(text);
    }
  }
  TextInput::Config config(int64_t batch_size = 3, int64_t seq_len = 16) const {
    return {.source = TextSource::Config{.path = dir_.path().string()},
            .seq_len = seq_len,
            .batch_size = batch_size};
  }
  TempDir dir_;
  int64_t num_bytes_ = 0;
};

TEST_F(TextInputTest, BatchesFitTheElementSpec) {
  const auto input = build(config());
  const Batch batch = *input->next();
  const auto spec = input->element_spec();
  ASSERT_EQ(spec.size(), batch.tensors.size());
  for (const auto& [name, type] : spec)
    EXPECT_EQ(batch.tensors.find(name)->second.type(), type) << name;
  EXPECT_EQ(spec.at("input_ids"), (Type{DType::kI32, {3, 16}}));
}

TEST_F(TextInputTest, OnePassShowsEveryByteOnceAsALabel) {
  auto cfg = config(5, 32);
  cfg.epochs = 1;
  const auto input = build(cfg);
  double bytes = 0;
  int64_t targets = 0, ends = 0, batches = 0;
  while (const auto batch = input->next()) {
    ++batches;
    targets += batch->num_targets;
    bytes += batch->num_target_bytes;
    int64_t counted = 0;
    for (const int32_t label : values(*batch, "target_labels")) {
      counted += label != kIgnoredLabel;
      ends += label == ByteTokenizer::kBoundary;
    }
    EXPECT_EQ(counted, batch->num_targets);
  }
  EXPECT_EQ(bytes, num_bytes_);
  EXPECT_EQ(ends, 23);
  EXPECT_EQ(targets, num_bytes_ + ends);
  const InputFacts facts = input->facts();
  EXPECT_EQ(facts.num_documents, 23);
  EXPECT_EQ(facts.num_bytes, num_bytes_);
  EXPECT_EQ(facts.num_tokens, num_bytes_ + 2 * 23);
  EXPECT_EQ(facts.num_rows, (targets + 31) / 32);
  EXPECT_EQ(batches, (facts.num_rows + 4) / 5);
  EXPECT_FALSE(input->next().has_value());
}

TEST_F(TextInputTest, OrderDependsOnSeedAndEpochAlone) {
  const auto rows_of_epoch = [&](uint64_t seed, int64_t batch_size) {
    const auto input = build(config(batch_size), seed);
    std::vector<std::vector<int32_t>> rows;
    while (std::ssize(rows) < 2 * input->facts().num_rows) {
      const Batch batch = *input->next();
      const auto ids = values(batch, "input_ids");
      for (int64_t i = 0; i < batch_size; ++i)
        rows.emplace_back(ids.begin() + i * 16, ids.begin() + (i + 1) * 16);
    }
    rows.resize(2 * input->facts().num_rows);
    return rows;
  };
  const auto rows = rows_of_epoch(1, 1);
  EXPECT_EQ(rows, rows_of_epoch(1, 7));  // the batch size does not matter
  EXPECT_NE(rows, rows_of_epoch(2, 1));
  const auto half = rows.begin() + rows.size() / 2;
  EXPECT_FALSE(std::equal(rows.begin(), half, half));
}

TEST_F(TextInputTest, OriginsNameTheDocumentsOfABatch) {
  const auto input = build(config(3, 16));
  for (int64_t batch = 0; batch < 2 * input->facts().num_rows / 3; ++batch) {
    const auto origins = input->origins_of_batch(batch);
    const Batch made = *input->next();
    const auto ids = values(made, "input_ids");
    std::vector<size_t> filled = {0, 16, 32};
    for (const RowOrigin& origin : origins) {
      const std::string path = origin.where.substr(0, origin.where.rfind(':'));
      const std::string text = read_file(path);
      for (int64_t i = origin.from; i < origin.from + origin.count; ++i) {
        const int32_t id = ids[filled[origin.row]++];
        EXPECT_EQ(id, i == 0 ? ByteTokenizer::kBoundary : text[i - 1]);
      }
    }
  }
}

// The law of exact resume: a fresh input that restores a state from any position continues bit for
// bit.
template <class Make>
void expect_resumes_everywhere(const Make& make, int num_batches) {
  const auto input = make();
  std::vector<std::string> states;
  std::vector<std::optional<Batch>> batches;
  for (int i = 0; i < num_batches; ++i) {
    states.push_back(input->state());
    batches.push_back(input->next());
  }
  for (size_t from = 0; from < states.size(); ++from) {
    const auto resumed = make();
    if (from % 2) resumed->next();  // earlier calls must not matter
    resumed->restore(states[from]);
    EXPECT_EQ(resumed->state(), states[from]);
    for (size_t i = from; i < batches.size(); ++i) {
      const auto batch = resumed->next();
      ASSERT_EQ(batch.has_value(), batches[i].has_value()) << from << " to " << i;
      if (!batch) continue;
      ASSERT_EQ(batch->tensors, batches[i]->tensors) << from << " to " << i;
      EXPECT_EQ(batch->num_target_bytes, batches[i]->num_target_bytes);
    }
  }
}

TEST_F(TextInputTest, ResumesFromEveryPositionOverEpochs) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const int one_epoch = static_cast<int>(build(config())->facts().num_rows / 3);
  expect_resumes_everywhere([&] { return build(config(), seed); }, one_epoch + 5);
  auto finite = config();
  finite.epochs = 1;
  finite.shuffle = Shuffle::kNone;
  expect_resumes_everywhere([&] { return build(finite, seed); }, one_epoch + 3);
}

TEST_F(TextInputTest, PrefetchedBatchesAreTheSameAndResumeTheSame) {
  const auto plain = [&] { return build(config()); };
  const auto ahead = [&] { return std::make_unique<Prefetcher>(build(config()), 4); };
  const auto a = plain();
  const auto b = ahead();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(a->state(), b->state());
    EXPECT_EQ(a->next()->tensors, b->next()->tensors);
  }
  expect_resumes_everywhere(ahead, 12);
}

TEST_F(TextInputTest, SplitsShareNoText) {
  auto train = config(), held = config();
  train.split = Split::kTrain;
  held.split = Split::kHeldOut;
  train.held_out_fraction = held.held_out_fraction = 0.2;
  const auto a = build(train)->facts(), b = build(held)->facts();
  EXPECT_EQ(a.num_documents + b.num_documents, 23);
  EXPECT_EQ(a.num_bytes + b.num_bytes, num_bytes_);
  EXPECT_GT(b.num_documents, 0);
}

TEST_F(TextInputTest, RestoringOverOtherDataIsRefused) {
  const auto input = build(config());
  const std::string state = input->state();
  for (const auto& other : {build(config(), 2), build(config(3, 8)),
                            build(SyntheticInput::Config{.seq_len = 16, .batch_size = 3})}) {
    EXPECT_THAT([&] { other->restore(state); },
                ThrowsMessage<DataError>(HasSubstr("expected the data of the saved position")));
  }
  EXPECT_NO_THROW(build(config(8))->restore(state));  // the state counts rows, not batches
  for (const char* bad : {"", "{}", "[1]", R"({"fingerprint":7,"next_row":1})",
                          R"({"fingerprint":"0","next_row":-1})",
                          R"({"fingerprint":"0","next_row":9223372036854775808})",
                          R"({"fingerprint":"0","next_row":1.0})"}) {
    EXPECT_THAT([&] { input->restore(bad); },
                ThrowsMessage<DataError>(StartsWith("input state: ")));
  }
}

// The sizes are checked before the text is read: the path of the source does not exist.
TEST(InputSizes, SizesAreCheckedBeforeAnythingIsRead) {
  constexpr int64_t kHuge = 1'000'000'000, kMost = std::numeric_limits<int64_t>::max();
  const TextSource::Config nothing{.path = "/no such file"};
  const auto code = [](const Child<Input>& config, const char* field) {
    const Thrown error =
        thrown_by([&] { config.build({.vocab_size = 257, .seed = 0}, {.path = "input"}); });
    EXPECT_THAT(error.message, AnyOf("no error", AllOf(StartsWith("input"), HasSubstr(field))));
    return error.code;
  };
  for (const auto& [batch_size, seq_len, expected] :
       {std::tuple(kHuge, int64_t{1000}, ExitCode::kDoesNotFit),
        std::tuple(kMost, int64_t{16}, ExitCode::kUser),
        std::tuple(int64_t{16}, kMost, ExitCode::kUser), std::tuple(kHuge, kHuge, ExitCode::kUser),
        std::tuple(kMost, kMost, ExitCode::kUser),
        std::tuple(kHuge * 1000, int64_t{64}, ExitCode::kDoesNotFit)}) {
    EXPECT_EQ(
        code(TextInput::Config{.source = nothing, .seq_len = seq_len, .batch_size = batch_size},
             "batch_size"),
        expected);
    EXPECT_EQ(
        code(SyntheticInput::Config{.seq_len = seq_len, .batch_size = batch_size}, "batch_size"),
        expected);
  }
  for (const int64_t epochs : {kHuge, kMost}) {
    EXPECT_EQ(
        code(TextInput::Config{.source = nothing, .seq_len = 8, .batch_size = 2, .epochs = epochs},
             "input.epochs"),
        ExitCode::kUser);
  }
  EXPECT_EQ(code(SyntheticInput::Config{.seq_len = 8, .batch_size = 2, .num_batches = kMost},
                 "input.num_batches"),
            ExitCode::kUser);
}

// The text fits into memory; its tokens of four bytes each do not.
TEST(InputSizes, MemoryOfTokensIsCheckedBeforeEncoding) {
  const TempDir dir;
  const std::string line(63, 'x');
  std::string text;
  while (text.size() < size_t{40} << 20) text += line + "\n";
  replace_file(dir / "x.txt", text);
  text = {};
  const LittleMemory little(int64_t{250} << 20);
  const Thrown error = thrown_by([&] {
    build(TextInput::Config{.source = TextSource::Config{.path = dir / "x.txt"},
                            .seq_len = 8,
                            .batch_size = 2,
                            .memory_bytes = int64_t{64} << 20});
  });
  EXPECT_EQ(error.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(error.message, StartsWith("input: expected 320.0 MiB of host memory for the "
                                        "tokens of 41943040 bytes of text, got "));
}

// A corpus is in memory as text, as tokens, and as the tokens of the document being encoded.
TEST(InputSizes, CorpusMemoryStaysWithinTheEstimate) {
  const TempDir dir;
  for (int i = 0; i < 5; ++i)
    replace_file(dir / (std::to_string(i) + ".txt"), std::string(8 << 20, 'x'));
  const int64_t before = peak_resident_bytes();
  build(TextInput::Config{.source = TextSource::Config{.path = dir.path().string()},
                          .seq_len = 64,
                          .batch_size = 2,
                          .memory_bytes = int64_t{64} << 20});
  EXPECT_LT(peak_resident_bytes() - before, (40 + 4 * 40 + 4 * 8 + 30) << 20);
}

TEST_F(TextInputTest, ConfigMistakesNameTheField) {
  const auto refused = [](TextInput::Config cfg, const char* message, int64_t vocab_size = 257) {
    EXPECT_THAT([&] { build(cfg, 1, vocab_size); }, ThrowsMessage<ConfigError>(HasSubstr(message)));
  };
  refused(config(0), "input.batch_size: expected an integer of at least 1, got 0");
  refused(config(1, -3), "input.seq_len: expected an integer of at least 1, got -3");
  auto cfg = config();
  cfg.held_out_fraction = 1;
  refused(cfg, "input.held_out_fraction: expected a number of at least 0 and below 1, got 1.0");
  refused(config(),
          "input.tokenizer: expected at most the model's vocabulary of 100 tokens, got 257", 100);
}

TEST_F(TextInputTest, LongDocumentsAreCutOrLeftOut) {
  auto cfg = config(3, 40);  // of 23 documents, those of 12 bytes up to about 200
  cfg.epochs = 1;
  cfg.packing = Packing::kWhole;
  cfg.prompt = Prompt{.until = ":"};  // behind the eleventh or twelfth byte
  for (const LongDocuments choice : {LongDocuments::kTruncate, LongDocuments::kSkip}) {
    cfg.long_documents = choice;
    const auto input = build(cfg);
    const auto facts = input->facts();
    const int64_t num_long =
        choice == LongDocuments::kSkip ? facts.skipped.count : facts.num_truncated;
    EXPECT_EQ(num_long, 19);
    EXPECT_EQ(facts.num_documents, 23);
    int64_t num_segments = 0;
    for (int64_t row = 0; const auto batch = input->next(); ++row) {
      const auto ids = values(*batch, "input_ids"), labels = values(*batch, "target_labels"),
                 positions = values(*batch, "input_positions");
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool begins = ids[i] == 256, is_learned = labels[i] != kIgnoredLabel;
        num_segments += begins;
        EXPECT_TRUE(!begins || positions[i] == 0) << "none goes on in another row";
        EXPECT_TRUE(!is_learned || positions[i] > 9) << "behind the prompt";
      }
      for (const RowOrigin& origin : input->origins_of_batch(row)) {
        EXPECT_EQ(origin.from, 0);
        const bool is_short = origin.where < (dir_ / "104.txt");
        EXPECT_EQ(origin.count < 40, is_short) << origin.where;
      }
    }
    EXPECT_EQ(num_segments, choice == LongDocuments::kSkip ? 4 : 23);
  }
  cfg.seq_len = 9;
  EXPECT_EQ(error_of<DataError>([&] { build(cfg); }),
            "input.source: expected documents of at most 9 positions, which is a row, got none; "
            "set input.long_documents=split");
  cfg.packing = Packing::kPairs;
  EXPECT_EQ(error_of<ConfigError>([&] { build(cfg); }),
            "input.packing: expected cut, whole or best_fit for text, got pairs");
}

TEST_F(TextInputTest, PromptsLeaveSomethingToLearn) {
  const auto with = [&](Prompt prompt) {
    auto cfg = config();
    cfg.prompt = std::move(prompt);
    return cfg;
  };
  EXPECT_EQ(error_of<ConfigError>([&] { build(with({.until = ""})); }),
            "input.prompt.until: expected the text that ends a prompt, got an empty one; leave it "
            "out to take a share of each document");
  EXPECT_EQ(error_of<DataError>([&] { build(with({.until = "zz\t"})); }),
            "input.prompt.until: expected a text that ends the prompts, got 'zz\\x09', which is in "
            "none of 23 documents");
  EXPECT_EQ(error_of<DataError>([&] { build(with({.share = 1})); }),
            "input.prompt: expected text behind the prompts, got none: each of 23 documents is all "
            "prompt");
  // Documents that lack the text are counted.
  const auto input = build(with({.until = "document 1"}));
  EXPECT_EQ(input->facts().num_without_prompt, 12);  // 0, 2 to 9, 20 to 22
  EXPECT_EQ(to_text(input->facts()),
            fmt::format("23 files, {} bytes, 12 documents without a prompt", num_bytes_));
  EXPECT_EQ(build(with({.share = 0.5}))->facts().num_without_prompt, 0);
  EXPECT_EQ(build(config())->facts().num_without_prompt, 0);
}

TEST_F(TextInputTest, EntropyIsComputedFromTheBytes) {
  const TempDir dir;
  replace_file(dir / "x.txt", "aabbccdd");
  auto cfg = config();
  cfg.source = TextSource::Config{.path = dir / "x.txt"};
  EXPECT_DOUBLE_EQ(build(cfg)->facts().byte_entropy_bits, 2.0);
}

TEST(SyntheticInput, RowsHoldPairs) {
  const auto input =
      build(SyntheticInput::Config{.seq_len = 5, .batch_size = 1, .num_batches = 1, .pairs = true});
  const Batch batch = input->next().value();
  EXPECT_EQ(batch.tensors.at("is_pair"), HostTensor({1}, {1}));
  EXPECT_EQ(batch.tensors.at("input_segment_ids"), HostTensor({1, 5}, {1, 1, 2, 2, 2}));
  EXPECT_EQ(batch.tensors.at("input_positions"), HostTensor({1, 5}, {0, 1, 0, 1, 2}));
}

TEST(SyntheticInput, ResumesAndDependsOnTheSeedOnly) {
  const SyntheticInput::Config cfg{.seq_len = 8, .batch_size = 2, .num_batches = 5};
  expect_resumes_everywhere([&] { return build(cfg, 7, 32000); }, 7);
  EXPECT_NE(build(cfg, 7)->next()->tensors, build(cfg, 8)->next()->tensors);
  const auto input = build(cfg, 3, 50);
  for (int i = 0; i < 5; ++i) {
    const Batch batch = *input->next();
    EXPECT_EQ(batch.num_targets, 16);
    const auto ids = values(batch, "input_ids"), labels = values(batch, "target_labels");
    for (size_t t = 0; t < ids.size(); ++t) {
      EXPECT_TRUE(ids[t] >= 0 && ids[t] < 50 && labels[t] >= 0 && labels[t] < 50);
      EXPECT_TRUE(t % 8 == 0 || ids[t] == labels[t - 1]);
    }
  }
  EXPECT_FALSE(input->next().has_value());
}

}  // namespace
}  // namespace axle
