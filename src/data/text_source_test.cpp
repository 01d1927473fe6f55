#include "data/text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Source> build(TextSource::Config cfg) {
  return Child<Source>(std::move(cfg)).build({}, {.path = "input.source"});
}

std::vector<std::string> texts(const Source& source) {
  std::vector<std::string> out;
  for (const auto& document : source.documents()) out.emplace_back(document.text);
  return out;
}
std::vector<std::string> places(const Source& source) {
  std::vector<std::string> out;
  for (const auto& document : source.documents()) out.push_back(document.where);
  return out;
}

class TextSourceTest : public ::testing::Test {
 protected:
  TempDir dir_;
  std::string path_ = dir_ / "x.txt";
};

TEST_F(TextSourceTest, AFileIsOneDocumentWithoutItsByteOrderMark) {
  replace_file(path_, "\xef\xbb\xbfone\n\ntwo\r\n");
  const auto source = build({.path = path_});
  EXPECT_THAT(texts(*source), ElementsAre("one\n\ntwo\r\n"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":1"));
}

TEST_F(TextSourceTest, ParagraphsEndAtBlankLines) {
  replace_file(path_, "\n \na\nb\n\n\t\r\nc\r\nd");
  const auto source = build({.path = path_, .unit = DocumentUnit::kParagraph});
  EXPECT_THAT(texts(*source), ElementsAre("a\nb\n", "c\r\nd"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":3", path_ + ":7"));
}

TEST_F(TextSourceTest, LinesComeWithoutTheirEnds) {
  replace_file(path_, "emma\r\n\nolivia\n ava");
  const auto source = build({.path = path_, .unit = DocumentUnit::kLine});
  EXPECT_THAT(texts(*source), ElementsAre("emma", "olivia", " ava"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":1", path_ + ":3", path_ + ":4"));
}

TEST_F(TextSourceTest, AFolderIsReadInTheOrderOfItsPaths) {
  make_directories(dir_ / "c/b");
  replace_file(dir_ / "b.txt", "second");
  replace_file(dir_ / "c/b/z.txt", "third");
  replace_file(dir_ / "a.txt", "first");
  replace_file(dir_ / "notes.md", "not text");
  EXPECT_THAT(texts(*build({.path = dir_.path().string()})),
              ElementsAre("first", "second", "third"));
}

TEST_F(TextSourceTest, MissingEmptyAndUnreadableTextIsNamed) {
  const auto message = [](const std::string& path) {
    return error_of<DataError>([&] { build({.path = path}); });
  };
  EXPECT_THAT(message(path_),
              HasSubstr(path_ + ": expected a text file or a folder of them, got nothing there"));
  EXPECT_THAT(message(path_), HasSubstr("set input.source.path or --data"));
  EXPECT_EQ(message(dir_.path().string()),
            dir_.path().string() + ": expected *.txt files, got none in the folder");
  replace_file(path_, " \n");
  EXPECT_EQ(message(path_), path_ +
                                ": expected text, got an empty file; input.source.on_error = "
                                "skip leaves it out");
  EXPECT_THAT(message("/dev/null"), HasSubstr("/dev/null: expected a regular file, got a device"));
}

TEST_F(TextSourceTest, BadBytesAreNamedByFileLineAndByte) {
  replace_file(path_, "good\nalso good\nbad \xff here\nlast");
  for (const auto unit : {DocumentUnit::kFile, DocumentUnit::kParagraph, DocumentUnit::kLine}) {
    EXPECT_THAT([&] { build({.path = path_, .unit = unit}); },
                ThrowsMessage<DataError>(path_ + ":3: not valid UTF-8 at byte 5; "
                                                 "input.source.on_error = skip leaves it out"));
  }
}

TEST_F(TextSourceTest, SkippedDocumentsAreCountedAndTold) {
  replace_file(path_, "good\n\xc3(\nfine\n\x80\n");
  const auto source =
      build({.path = path_, .unit = DocumentUnit::kLine, .on_error = OnError::kSkip});
  EXPECT_THAT(texts(*source), ElementsAre("good", "fine"));
  EXPECT_EQ(source->skipped().count, 2);
  EXPECT_THAT(
      source->skipped().messages,
      ElementsAre(
          path_ + ":2: not valid UTF-8 at byte 1; skipped (input.source.on_error = skip, 1 so far)",
          path_ +
              ":4: not valid UTF-8 at byte 1; skipped (input.source.on_error = skip, 2 so far)"));
  replace_file(path_, "\xff");
  EXPECT_THAT([&] { build({.path = path_, .on_error = OnError::kSkip}); },
              ThrowsMessage<DataError>(HasSubstr("got no document; 1 skipped")));
}

TEST(TextSourceConfig, EnumsReadWhatTheyPrint) {
  for (const auto unit : {DocumentUnit::kFile, DocumentUnit::kParagraph, DocumentUnit::kLine}) {
    DocumentUnit read{};
    from_text(to_text(unit), read);
    EXPECT_EQ(read, unit);
  }
  OnError policy{};
  EXPECT_THAT([&] { from_text("ignore", policy); },
              ThrowsMessage<ConfigError>("expected fail or skip, got 'ignore'"));
}

}  // namespace
}  // namespace axle
