#include "data/text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "config/fields.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/error_of_unprivileged.h"
#include "testing/peak_memory.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Source> build_source(TextSource::Config cfg) {
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
  const auto source = build_source({.path = path_});
  EXPECT_THAT(texts(*source), ElementsAre("one\n\ntwo\r\n"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":1"));
}

TEST_F(TextSourceTest, ParagraphsEndAtBlankLines) {
  replace_file(path_, "\n \na\nb\n\n\t\r\nc\r\nd");
  const auto source = build_source({.path = path_, .unit = DocumentUnit::kParagraph});
  EXPECT_THAT(texts(*source), ElementsAre("a\nb\n", "c\r\nd"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":3", path_ + ":7"));
}

TEST_F(TextSourceTest, LinesExcludeTheirEndings) {
  replace_file(path_, "emma\r\n\nolivia\n ava");
  const auto source = build_source({.path = path_, .unit = DocumentUnit::kLine});
  EXPECT_THAT(texts(*source), ElementsAre("emma", "olivia", " ava"));
  EXPECT_THAT(places(*source), ElementsAre(path_ + ":1", path_ + ":3", path_ + ":4"));
}

TEST_F(TextSourceTest, AFolderIsReadInTheOrderOfItsPaths) {
  make_directories(dir_ / "c/b");
  replace_file(dir_ / "b.txt", "second");
  replace_file(dir_ / "c/b/z.txt", "third");
  replace_file(dir_ / "a.txt", "first");
  replace_file(dir_ / "notes.md", "not text");
  EXPECT_THAT(texts(*build_source({.path = dir_.path().string()})),
              ElementsAre("first", "second", "third"));
}

TEST_F(TextSourceTest, MissingEmptyAndUnreadableTextIsNamed) {
  const auto message = [](const std::string& path) {
    return error_of<DataError>([&] { build_source({.path = path}); });
  };
  EXPECT_THAT(message(path_),
              HasSubstr(path_ + ": expected a text file or a folder of them, got nothing there"));
  EXPECT_THAT(message(path_), HasSubstr("set input.source.path or --data"));
  EXPECT_EQ(message(dir_.path().string()),
            dir_.path().string() + ": expected text in *.txt files, got no document");
  replace_file(path_, " \n");
  EXPECT_EQ(message(path_), path_ + ": expected text, got a file of blanks");
  EXPECT_EQ(message(dir_.path().string()),
            path_ +
                ": expected text, got a file of blanks; --set input.source.on_error=skip leaves it "
                "out");
  EXPECT_THAT(message("/dev/null"), HasSubstr("/dev/null: expected a regular file, got a device"));
}

TEST_F(TextSourceTest, BadBytesAreNamedByFileLineAndByte) {
  replace_file(path_, "good\nalso good\nbad \xff here\nlast");
  for (const auto unit : {DocumentUnit::kFile, DocumentUnit::kParagraph, DocumentUnit::kLine}) {
    EXPECT_THAT([&] { build_source({.path = path_, .unit = unit}); },
                ThrowsMessage<DataError>(path_ + ":3: not valid UTF-8 at byte 5" +
                                         (unit == DocumentUnit::kFile
                                              ? ""
                                              : "; --set input.source.on_error=skip leaves it "
                                                "out")));
  }
}

TEST_F(TextSourceTest, SkippedDocumentsAreCountedAndReported) {
  replace_file(path_, "good\n\xc3(\nfine\n\x80\n");
  const auto source =
      build_source({.path = path_, .unit = DocumentUnit::kLine, .on_error = OnError::kSkip});
  EXPECT_THAT(texts(*source), ElementsAre("good", "fine"));
  EXPECT_EQ(source->skipped().count, 2);
  EXPECT_THAT(source->skipped().messages,
              ElementsAre(path_ + ":2: not valid UTF-8 at byte 1 (input.source.on_error = skip)",
                          path_ + ":4: not valid UTF-8 at byte 1 (input.source.on_error = skip)"));
  replace_file(path_, "\xff");
  EXPECT_THAT([&] { build_source({.path = path_, .on_error = OnError::kSkip}); },
              ThrowsMessage<DataError>(HasSubstr("got no document; 1 skipped")));
}

TEST_F(TextSourceTest, NonTextFilesAreNamedAndCounted) {
  const auto message = [&](const std::string& name, const std::string& bytes) {
    replace_file(dir_ / name, bytes);
    return error_of<DataError>([&] { build_source({.path = dir_ / name}); });
  };
  const auto got = [](const std::string& what,
                      const std::string& advice = "data are texts, JSON Lines, Parquet") {
    return HasSubstr(": expected plain UTF-8 text, got " + what + "; " + advice);
  };
  const std::string lines = "{\"text\":\"a\"}\n{\"text\":\"b\"}\n";
  const std::string of_json =
      "--data reads JSON Lines from files named *.jsonl, *.ndjson or *.json";
  EXPECT_THAT(message("a.jsonl", lines), got("JSON", of_json));
  EXPECT_THAT(message("a.json", "[1]"), got("JSON", of_json));
  EXPECT_THAT(message("lines.txt", "\n" + lines), got("JSON", of_json));
  EXPECT_THAT(
      message("pointer.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7\n"),
      got("a git-LFS pointer", "`git lfs pull` fetches the file itself"));
  // Models are no data.
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string of_model =
      "data are texts, JSON Lines, Parquet, conversations or token files; a model to begin with is "
      "named by --init-from";
  EXPECT_THAT(message("a.gguf", "GGUF\3"), got("a GGUF file", of_model));
  EXPECT_THAT(message("a.bin", "\x80\x02}q"), got("a Python pickle", of_model));
  EXPECT_THAT(message("a.safetensors", std::string("\x37\0\0\0\0\0\0\0", 8) + header),
              got("a safetensors file", of_model));
  std::filesystem::remove(dir_ / "a.bin");
  std::filesystem::remove(dir_ / "a.safetensors");
  EXPECT_EQ(message("page.txt", "<!DOCTYPE html>\n<p>text</p>\n"), "no error");
  std::filesystem::remove(dir_ / "page.txt");
  std::filesystem::remove(dir_ / "pointer.txt");
  std::filesystem::remove(dir_ / "a.gguf");
  EXPECT_THAT(message("a.gz", "\x1f\x8b\x08 and so on"), got("gzip", "decompress it first"));
  EXPECT_THAT(message("a.parquet", "PAR1..."),
              got("Parquet", "axle data build reads files named *.parquet"));
  EXPECT_THAT(message("a.zip", "PK\x03\x04..."), got("a zip archive, as of PyTorch or NumPy"));
  EXPECT_THAT(message("wide.txt", std::string("\xff\xfe"
                                              "a\0b\0",
                                              6)),
              got("UTF-16"));
  EXPECT_THAT(message("nul.txt", std::string("good\na\0b", 8)),
              HasSubstr("nul.txt:2: a NUL, which is no text, at byte 2"));
  // Prose may quote JSON, and source code is text.
  for (const std::string text :
       {"{\"a\": 1}\nis what a program prints\n", "{}\n{}\n", "{\nint x;\n}\n"})
    EXPECT_EQ(message("fine.txt", text), "no error");

  const auto source = build_source({.path = dir_.path().string(), .on_error = OnError::kSkip});
  EXPECT_EQ(source->num_files(), 1);
  EXPECT_EQ(to_text(source->skipped()),
            "8 skipped (1 JSON: lines.txt; 1 UTF-16: wide.txt; 5 not *.txt: a.gz, a.json, a.jsonl, "
            "...; 1 with NUL bytes: nul.txt:2)");
}

// What a user names beside other paths counts.
TEST_F(TextSourceTest, FolderWithoutTextsIsRefused) {
  make_directories(dir_ / "empty/below");
  make_directories(dir_ / "notes");
  make_directories(dir_ / "c");
  for (const char* name : {"a.txt", "notes/n.md", "c/z.txt"}) replace_file(dir_ / name, name);
  const auto of = [&](const std::string& first, const std::string& second, OnError on_error = {}) {
    return texts(
        *build_source({.path = dir_ / first, .more_paths = {dir_ / second}, .on_error = on_error}));
  };
  for (const char* name : {"empty", "notes"}) {
    const std::string message =
        (dir_ / name) + ": expected a folder with files *.txt, got none of them; ";
    EXPECT_THAT(error_of<DataError>([&] { of("a.txt", name); }), HasSubstr(message));
    EXPECT_THAT(error_of<DataError>([&] { of(name, "a.txt"); }), HasSubstr(message));
    EXPECT_THAT(of(name, "a.txt", OnError::kSkip), ElementsAre("a.txt"));
  }
  EXPECT_THAT(of("c", "c"), ElementsAre("c/z.txt")) << "its files are read already";
}

TEST_F(TextSourceTest, SeveralPathsAndPatternsAreReadInOrder) {
  make_directories(dir_ / "c");
  for (const char* name : {"a.txt", "b.txt", "c/z.txt", "c/y.txt", "[x].txt"})
    replace_file(dir_ / name, name);
  replace_file(dir_ / "b.md", "b.md");
  const auto read = [&](const std::string& path, std::vector<std::string> more = {}) {
    for (std::string& one : more) one = dir_ / one;
    return texts(*build_source({.path = dir_ / path, .more_paths = std::move(more)}));
  };
  EXPECT_THAT(read("b.txt", {"a.txt"}), ElementsAre("b.txt", "a.txt"));
  EXPECT_THAT(read("c", {"a.txt"}), ElementsAre("c/y.txt", "c/z.txt", "a.txt"));
  EXPECT_THAT(read("*.txt"), ElementsAre("[x].txt", "a.txt", "b.txt"));
  EXPECT_THAT(read("b.*"), ElementsAre("b.md", "b.txt")) << "a pattern names its files itself";
  EXPECT_THAT(read("?.txt", {"[c]/*"}), ElementsAre("a.txt", "b.txt", "c/y.txt", "c/z.txt"));
  EXPECT_THAT(read("[x].txt"), ElementsAre("[x].txt")) << "a file of this very name";
  EXPECT_THAT(read("b.txt", {"*.txt"}), ElementsAre("b.txt", "[x].txt", "a.txt")) << "b.txt once";
  make_directories(dir_ / ".checkpoints/c");
  replace_file(dir_ / ".checkpoints/c/a.txt", "hidden");
  EXPECT_THAT(read(".checkpoints/**/*.txt"), ElementsAre("hidden"));
  EXPECT_THAT(read("**/*.txt"), ElementsAre("[x].txt", "a.txt", "b.txt", "c/y.txt", "c/z.txt"));
  EXPECT_THAT(read("**/c/**/z.*"), ElementsAre("c/z.txt"));
  EXPECT_THAT(error_of<DataError>([&] { read("*.text"); }), HasSubstr("*.text: expected a text"));
  EXPECT_THAT(error_of<DataError>([&] { read("a.txt", {"none.txt"}); }),
              HasSubstr("none.txt: expected a text file or a folder of them, got nothing there; "
                        "set input.source.more_paths[0] or --data"));
  const TextSource::Config remote{.path = "s3://bucket/a.txt"};
  EXPECT_THAT(error_of<DataError>([&] { TextSource(remote, {}, {.path = "input.source"}); }),
              HasSubstr("input.source.path: expected a path of this machine, got "
                        "'s3://bucket/a.txt'; s3:// is not supported"));
}

TEST_F(TextSourceTest, PathsThatAreNotUtf8AreEscapedReversibly) {
  const std::string name = "a\xff\\\xc3\xa9.txt";
  replace_file(dir_ / name, "text");
  const std::string text = text_of_path(dir_ / name);
  EXPECT_THAT(text, ::testing::EndsWith("/a\\xff\\x5c\xc3\xa9.txt"));
  EXPECT_EQ(path_of_text(text), dir_ / name);
  EXPECT_THAT(texts(*build_source({.path = text})), ElementsAre("text"));
  // A name that looks like such a text has a text of its own.
  EXPECT_EQ(text_of_path("a\\xff"), "a\\x5cxff");
  EXPECT_EQ(path_of_text("a\\x5cxff"), "a\\xff");
  // It also stands for itself, if there is no other file that it could be.
  replace_file(dir_ / "a\\xff", "text");
  EXPECT_EQ(path_of_text(dir_ / "a\\xff"), dir_ / "a\\xff");
  replace_file(dir_ / "a\xff", "other");
  EXPECT_EQ(path_of_text(dir_ / "a\\xff"), dir_ / "a\xff");
  EXPECT_EQ(path_of_text(dir_ / "b\\x41\\xf"), dir_ / "b\\x41\\xf");
}

TEST_F(TextSourceTest, InaccessiblePathsAreNotCalledMissing) {
  const std::string folder = dir_ / "closed";
  make_directories(folder);
  replace_file(folder + "/x.txt", "text");
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder, std::filesystem::perms::none);
  for (const std::string& path : {folder, folder + "/x.txt", folder + "/*.txt"}) {
    EXPECT_THAT(error_of_unprivileged<DataError>([&] { build_source({.path = path}); }),
                ::testing::AllOf(HasSubstr("Permission denied"),
                                 ::testing::Not(HasSubstr("nothing there"))))
        << path;
  }
  std::filesystem::permissions(folder, std::filesystem::perms::all);
}

// Sparse files: they have a size but no data. The test fails if they are read.
TEST_F(TextSourceTest, MemoryOfTextIsCheckedBeforeReading) {
  const LittleMemory little(256 << 20);
  for (const char* name : {"a.txt", "b.txt"}) {
    replace_file(dir_ / name, "text");
    std::filesystem::resize_file(dir_ / name, 200 << 20);
  }
  const Thrown error = thrown_by([&] { build_source({.path = dir_.path().string()}); });
  EXPECT_EQ(error.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(error.message,
              HasSubstr(dir_.path().string() + ": expected 400.0 MiB of host memory for its text"));
}

TEST_F(TextSourceTest, MemoryOfManyShortDocumentsIsChecked) {
  std::string text;
  while (text.size() < 8 << 20) text += "x\n\n";
  replace_file(path_, text);
  const LittleMemory little(128 << 20);
  EXPECT_THAT(error_of<Error>([&] { build_source({.path = path_}); }), "no error");
  for (const auto unit : {DocumentUnit::kParagraph, DocumentUnit::kLine}) {
    EXPECT_THAT(error_of<Error>([&] { build_source({.path = path_, .unit = unit}); }),
                HasSubstr(" of host memory for its documents, got "));
  }
}

TEST_F(TextSourceTest, NonTextFilesAreRefusedBeforeTheirEnd) {
  const std::string text = "good\nso f\xc3\xa9\n";
  for (const std::string& bad : {std::string(10, '\0'), std::string("\xff\xff but long")}) {
    replace_file(path_, text + bad);
    const auto message = [&](DocumentUnit unit) {
      return error_of<DataError>([&] { build_source({.path = path_, .unit = unit}); });
    };
    for (const auto unit : {DocumentUnit::kFile, DocumentUnit::kParagraph, DocumentUnit::kLine}) {
      std::filesystem::resize_file(path_, text.size() + bad.size());
      const std::string small = message(unit);
      EXPECT_THAT(small, HasSubstr("x.txt:3: "));
      std::filesystem::resize_file(path_, 200 << 20);
      const int64_t before = peak_resident_bytes();
      EXPECT_EQ(message(unit), small);
      EXPECT_LT(peak_resident_bytes() - before, 50 << 20);
    }
  }
}

TEST_F(TextSourceTest, NoTextIsReadTwiceThroughLinks) {
  namespace fs = std::filesystem;
  make_directories(dir_ / "a/b");
  replace_file(dir_ / "a/one.txt", "one");
  replace_file(dir_ / "a/b/two.txt", "two");
  fs::create_directory_symlink(dir_.path(), dir_ / "a/b/top");  // a loop
  fs::create_directory_symlink(dir_ / "a", dir_ / "copy");
  fs::create_symlink(dir_ / "a/one.txt", dir_ / "z.txt");
  const auto source = build_source({.path = dir_.path().string()});
  EXPECT_THAT(texts(*source), ElementsAre("two", "one"));
  EXPECT_EQ(to_text(source->skipped()), "3 skipped (3 named or linked before: top, copy, z.txt)");

  fs::create_symlink(dir_ / "nothing", dir_ / "broken.txt");
  EXPECT_THAT(error_of<DataError>([&] { build_source({.path = dir_.path().string()}); }),
              HasSubstr("broken.txt: expected a file, got a link to nothing"));
}

// Locks of editors (links that name a user), backups of macOS, folders of version control.
TEST_F(TextSourceTest, HiddenFilesInFoldersAreSkipped) {
  namespace fs = std::filesystem;
  replace_file(dir_ / "a.txt", "one");
  replace_file(dir_ / "._a.txt", "not this");
  make_directories(dir_ / ".git");
  replace_file(dir_ / ".git/b.txt", "nor this");
  fs::create_symlink("user@host.123", dir_ / ".#a.txt");
  fs::create_symlink("nothing", dir_ / "notes.md");
  const auto source = build_source({.path = dir_.path().string()});
  EXPECT_THAT(texts(*source), ElementsAre("one"));
  EXPECT_EQ(to_text(source->skipped()),
            "4 skipped (3 hidden: .#a.txt, ._a.txt, .git; 1 not *.txt: notes.md)");
  // A file that is named is read.
  EXPECT_THAT(texts(*build_source({.path = dir_ / "._a.txt"})), ElementsAre("not this"));
  // This may have been a folder of texts.
  fs::create_symlink("nothing", dir_ / "part2");
  EXPECT_THAT(error_of<DataError>([&] { build_source({.path = dir_.path().string()}); }),
              HasSubstr("part2: expected a file, got a link to nothing"));
}

TEST_F(TextSourceTest, FileInAFolderWithoutSearchRightIsNotABrokenLink) {
  namespace fs = std::filesystem;
  fs::permissions(dir_.path(), fs::perms::all);
  make_directories(dir_ / "folder");
  replace_file(dir_ / "folder/a.txt", "text");
  fs::permissions(dir_ / "folder", fs::perms(0444));  // can be listed, not searched
  const std::string error =
      error_of_unprivileged<DataError>([&] { build_source({.path = dir_.path().string()}); });
  EXPECT_THAT(error, HasSubstr("folder/a.txt: cannot read: Permission denied"));
  fs::permissions(dir_ / "folder", fs::perms(0755));
}

TEST_F(TextSourceTest, FifosAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((dir_ / "fifo.txt").c_str(), 0600), 0);
  EXPECT_THAT(error_of<DataError>([&] { build_source({.path = dir_.path().string()}); }),
              HasSubstr("fifo.txt: expected a regular file, got a FIFO"));
}

TEST_F(TextSourceTest, LaterChangesOfAFileHaveNoEffect) {
  replace_file(path_, "as it was");
  const auto source = build_source({.path = path_});
  std::filesystem::resize_file(path_, 0);
  EXPECT_THAT(texts(*source), ElementsAre("as it was"));
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
