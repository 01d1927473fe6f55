#include "data/held_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string joined(const std::vector<Document>& documents) {
  std::string out;
  for (const auto& document : documents) out += document.text;
  return out;
}

TEST(HeldOut, HeldOutDocumentsAreAboutTheFractionAndDisjoint) {
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i)
    texts.push_back(std::string(static_cast<size_t>(900 + 10 * i), static_cast<char>('0' + i)));
  std::vector<Document> documents;
  for (const auto& text : texts) documents.push_back({text, "f:1"});
  for (const double fraction : {0.03, 0.05, 0.3}) {
    const auto train = select_split(documents, Split::kTrain, fraction),
               held = select_split(documents, Split::kHeldOut, fraction);
    EXPECT_EQ(train.size() + held.size(), documents.size());
    std::set<const char*> seen;
    for (const auto& document : train) seen.insert(document.text.data());
    for (const auto& document : held) EXPECT_TRUE(seen.insert(document.text.data()).second);
    const double share =
        static_cast<double>(joined(held).size()) / static_cast<double>(joined(documents).size());
    EXPECT_GT(share, 0.5 * fraction);
    EXPECT_LE(share, 1.5 * fraction);
  }
  EXPECT_EQ(select_split(documents, Split::kAll, 0.5).size(), documents.size());
}

TEST(HeldOut, SingleDocumentHoldsOutItsLastLines) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  const std::vector<Document> documents = {{text, "f:11"}};
  const auto train = select_split(documents, Split::kTrain, 0.1),
             held = select_split(documents, Split::kHeldOut, 0.1);
  EXPECT_EQ(joined(train) + joined(held), text);
  EXPECT_TRUE(held[0].text.starts_with("line "));
  EXPECT_TRUE(train[0].text.ends_with("\n"));
  EXPECT_NEAR(static_cast<double>(held[0].text.size()), 0.1 * static_cast<double>(text.size()), 10);
  const auto lines = std::count(train[0].text.begin(), train[0].text.end(), '\n');
  EXPECT_EQ(held[0].where, "f:" + std::to_string(11 + lines));
}

TEST(HeldOut, WholeDocumentsHoldOutTheSmallest) {
  const std::vector<Document> documents = {
      {"long one", "f:1"}, {"short", "f:2"}, {"longer one", "f:3"}};
  const auto selected = [&](Split split, double fraction) {
    return joined(select_whole(documents, split, fraction, "input"));
  };
  EXPECT_EQ(selected(Split::kHeldOut, 0.05), "short");
  EXPECT_EQ(selected(Split::kTrain, 0.05), "long onelonger one");
  // With a larger share, as select_split() chooses.
  EXPECT_EQ(selected(Split::kHeldOut, 0.4), joined(select_split(documents, Split::kHeldOut, 0.4)));
  EXPECT_EQ(selected(Split::kTrain, 0).size(), joined(documents).size());
  EXPECT_EQ(selected(Split::kAll, 0.05).size(), joined(documents).size());
  EXPECT_THROW(selected(Split::kHeldOut, 0), DataError);
  EXPECT_THAT([&] { select_whole({documents[0]}, Split::kTrain, 0.5, "input"); },
              ThrowsMessage<DataError>(HasSubstr(
                  "input.held_out_fraction: expected at least 2 conversations to hold out one, "
                  "got 1; give more, or train without held-out ones")));
}

TEST(HeldOut, TextWithoutLinesIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xe2\x82\xac";
  for (double fraction = 0.01; fraction < 0.99; fraction += 0.013) {
    const std::vector<Document> documents = {{text, "f:1"}};
    const auto train = select_split(documents, Split::kTrain, fraction),
               held = select_split(documents, Split::kHeldOut, fraction);
    EXPECT_EQ(joined(train) + joined(held), text);
    EXPECT_EQ(find_invalid_utf8(joined(train)), std::nullopt);
    EXPECT_EQ(find_invalid_utf8(joined(held)), std::nullopt);
  }
}

TEST(HeldOut, AnEmptySplitIsAnError) {
  const std::vector<Document> documents = {{"text", "corpus.txt:1"}};
  EXPECT_THAT([&] { select_split(documents, Split::kHeldOut, 0); },
              ThrowsMessage<DataError>(
                  HasSubstr("enough text for the split 'held_out', got 1 document of 4 bytes; ")));
  EXPECT_EQ(select_split(documents, Split::kTrain, 0).size(), 1u);
}

}  // namespace
}  // namespace axle
