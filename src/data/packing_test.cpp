#include "data/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "data/batch.h"
#include "data/random.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> row_values(const Batch& batch, std::string_view name) {
  const auto values = batch.tensors.find(name)->second.values<int32_t>();
  return {values.begin(), values.end()};
}

TEST(Packing, DocumentsShareRowsAndContinueInTheNext) {
  TokenizedDocuments documents;
  documents.add(std::vector<int32_t>{1, 2, 3});
  documents.add(std::vector<int32_t>{9});  // its only token has no label
  documents.add(std::vector<int32_t>{10, 11, 12, 13, 14});
  const RowPacker packer(documents, {0, 1, 2}, 4);
  ASSERT_EQ(packer.num_rows(), 2);
  Batch batch = make_batch(2, 4);
  packer.fill(0, row_of(batch, 0));
  packer.fill(1, row_of(batch, 1));
  EXPECT_THAT(row_values(batch, "input_ids"), ElementsAre(1, 2, 10, 11, 12, 13, 0, 0));
  EXPECT_THAT(row_values(batch, "target_labels"), ElementsAre(2, 3, 11, 12, 13, 14, -1, -1));
  EXPECT_THAT(row_values(batch, "input_segment_ids"), ElementsAre(1, 1, 2, 2, 1, 1, 0, 0));
  EXPECT_THAT(row_values(batch, "input_positions"), ElementsAre(0, 1, 0, 1, 0, 1, 0, 0));
}

TEST(Packing, WholeDocumentsLeaveGaps) {
  TokenizedDocuments documents;
  documents.add(std::vector<int32_t>{1, 2, 3});
  documents.add(std::vector<int32_t>{9});
  documents.add(std::vector<int32_t>{10, 11, 12, 13});
  documents.add(std::vector<int32_t>{20, 21});
  const RowPacker packer(documents, {0, 1, 2, 3}, 4, {}, Packing::kWhole);
  ASSERT_EQ(packer.num_rows(), 2);
  Batch batch = make_batch(2, 4);
  packer.fill(0, row_of(batch, 0));
  packer.fill(1, row_of(batch, 1));
  EXPECT_THAT(row_values(batch, "input_ids"), ElementsAre(1, 2, 0, 0, 10, 11, 12, 20));
  EXPECT_THAT(row_values(batch, "target_labels"), ElementsAre(2, 3, -1, -1, 11, 12, 13, 21));
  EXPECT_THAT(row_values(batch, "input_segment_ids"), ElementsAre(1, 1, 0, 0, 1, 1, 1, 2));
}

// Rows filled in any order are what they are alone.
TEST(Packing, WholeDocumentsOfAllSizesAreEachInOneRow) {
  TokenizedDocuments documents;
  std::vector<int64_t> order;
  int32_t next = 1;
  for (int64_t i = 0; i < 200; ++i) {
    std::vector<int32_t> tokens(static_cast<size_t>(1 + i * 31 % 17));
    for (int32_t& token : tokens) token = next++;
    documents.add(tokens);
    order.push_back(i);
  }
  const RowPacker packer(documents, order, 16, {}, Packing::kWhole);
  int64_t num_inputs = 0;
  for (int64_t row = 0; row < packer.num_rows(); ++row) {
    Batch batch = make_batch(1, 16);
    packer.fill(row, row_of(batch, 0));
    const auto ids = row_values(batch, "input_ids"), labels = row_values(batch, "target_labels");
    const auto segments = row_values(batch, "input_segment_ids");
    const auto positions = row_values(batch, "input_positions");
    for (size_t t = 0; t < 16; ++t) {
      if (segments[t] == 0) continue;
      ++num_inputs;
      EXPECT_EQ(labels[t], ids[t] + 1);
      EXPECT_TRUE(t == 0 || positions[t] == 0 || positions[t] == positions[t - 1] + 1);
      EXPECT_EQ(positions[t] == 0, t == 0 || segments[t] != segments[t - 1]);
    }
  }
  EXPECT_EQ(num_inputs, documents.num_tokens() - 200);
}

TEST(Packing, LabelsAreOnlyLearnedTokens) {
  TokenizedDocuments documents;
  documents.add(std::vector<int32_t>{1, 2, 3});
  documents.add_learned(std::vector<int32_t>{4, 5, 6, 7}, std::vector<uint8_t>{1, 0, 1, 0});
  const RowPacker packer(documents, {0, 1}, 3);
  ASSERT_EQ(packer.num_rows(), 2);
  Batch batch = make_batch(2, 3);
  packer.fill(0, row_of(batch, 0));
  packer.fill(1, row_of(batch, 1));
  EXPECT_THAT(row_values(batch, "input_ids"), ElementsAre(1, 2, 4, 5, 6, 0));
  EXPECT_THAT(row_values(batch, "target_labels"), ElementsAre(2, 3, -1, 6, -1, -1));
  TokenizedDocuments others;
  others.add(std::vector<int32_t>{1, 2, 3});
  others.add_learned(std::vector<int32_t>{4, 5, 6, 7}, std::vector<uint8_t>{1, 0, 1, 1});
  EXPECT_NE(documents.fingerprint(), others.fingerprint());
}

// The labels of a prompt are left out. Its end is an index in the row, also in a part of a document
// that a row begins with.
TEST(Packing, PromptsEndAtAPositionOfTheRow) {
  TokenizedDocuments documents;
  documents.add(std::vector<int32_t>{1, 2, 3});  // without a prompt
  documents.add(std::vector<int32_t>{10, 11, 12, 13, 14, 15}, {}, 4);
  documents.add(std::vector<int32_t>{20, 21, 22}, {.bos = 7}, 1);  // 7, 20 are the prompt
  const RowPacker packer(documents, {0, 1, 2}, 5);
  ASSERT_EQ(packer.num_rows(), 2);
  Batch batch = make_batch(2, 5, {.prefix_lengths = true});
  packer.fill(0, row_of(batch, 0));
  packer.fill(1, row_of(batch, 1));
  EXPECT_THAT(row_values(batch, "input_ids"), ElementsAre(1, 2, 10, 11, 12, 13, 14, 7, 20, 21));
  EXPECT_THAT(row_values(batch, "target_labels"),
              ElementsAre(2, 3, -1, -1, -1, 14, 15, -1, 21, 22));
  EXPECT_THAT(row_values(batch, "prefix_lengths"), ElementsAre(0, 0, 5, 5, 5, 1, 1, 4, 4, 4));
  EXPECT_THAT(row_values(batch, "input_segment_ids"), ElementsAre(1, 1, 2, 2, 2, 1, 1, 2, 2, 2));
}

TEST(Packing, StreamsBeginWithEachSegment) {
  using enum PositionStream;
  TokenizedDocuments documents;
  documents.add(std::vector<int32_t>{1, 0, 2, 3, 0, 0, 4});  // 0 is a line break
  documents.add(std::vector<int32_t>{5, 6, 7});
  const StreamRule rule{.streams = {kToken, kLine, kColumn}, .line_breaks = {1}};
  const RowPacker packer(documents, {0, 1}, 5, rule);
  Batch batch = make_batch(2, 5, {.num_streams = 3});
  packer.fill(0, row_of(batch, 0));
  packer.fill(1, row_of(batch, 1));
  EXPECT_THAT(row_values(batch, "position_streams"),
              ElementsAre(0, 0, 0, 1, 0, 1, 2, 1, 0, 3, 1, 1, 4, 1, 2,  // 1 / 2 3 /
                          0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0));
}

TEST(Packing, EveryTokenButAFirstIsALabelExactlyOnce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const auto seq_len = static_cast<int64_t>(1 + random() % 9);
    const auto count = static_cast<int64_t>(1 + random() % 8);
    TokenizedDocuments documents;
    // Holds all pairs of neighbouring tokens. Tokens are unique.
    std::map<std::pair<int32_t, int32_t>, int> expected;
    int32_t token = 1;
    for (int64_t d = 0; d < count; ++d) {
      std::vector<int32_t> tokens(random() % 20);
      for (auto& t : tokens) t = token++;
      for (size_t i = 1; i < tokens.size(); ++i) expected[{tokens[i - 1], tokens[i]}] = 1;
      documents.add(tokens);
    }
    const RowPacker packer(documents, permutation(count, random()), seq_len);
    std::map<std::pair<int32_t, int32_t>, int> seen;
    for (int64_t r = 0; r < packer.num_rows(); ++r) {
      Batch batch = make_batch(1, seq_len);
      const RowView row = row_of(batch, 0);
      packer.fill(r, row);
      for (size_t t = 0; t < row.input_ids.size(); ++t) {
        if (row.target_labels[t] == kIgnoredLabel) {
          EXPECT_EQ(row.input_segment_ids[t], 0);
          EXPECT_EQ(r, packer.num_rows() - 1);  // padding is only at the very end
          continue;
        }
        ++seen[{row.input_ids[t], row.target_labels[t]}];
        const bool continues = t > 0 && row.input_segment_ids[t] == row.input_segment_ids[t - 1];
        EXPECT_EQ(row.input_positions[t], continues ? row.input_positions[t - 1] + 1 : 0);
        if (continues)
          EXPECT_EQ(row.input_ids[t], row.target_labels[t - 1]);
        else
          EXPECT_EQ(row.input_segment_ids[t], t == 0 ? 1 : row.input_segment_ids[t - 1] + 1);
      }
    }
    EXPECT_EQ(seen, expected);
  }
}

TEST(Packing, FingerprintSeesTokensAndBoundaries) {
  const auto of = [](std::vector<std::vector<int32_t>> lists) {
    TokenizedDocuments documents;
    for (const auto& list : lists) documents.add(list);
    return documents.fingerprint();
  };
  EXPECT_EQ(of({{1, 2}, {3}}), of({{1, 2}, {3}}));
  EXPECT_NE(of({{1, 2}, {3}}), of({{1}, {2, 3}}));
  EXPECT_NE(of({{1, 2}, {3}}), of({{1, 2}, {4}}));
}

}  // namespace
}  // namespace axle
