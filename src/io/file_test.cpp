#include "io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "base/hash.h"
#include "io/file_lock.h"
#include "io/file_reader.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(File, ReadsWhatReplaceWrote) {
  const TempDir dir;
  const std::string bytes("a\0b\n\xff", 5);
  replace_file(dir / "x", bytes);
  EXPECT_EQ(read_file(dir / "x"), bytes);
  EXPECT_EQ(file_bytes(dir / "x"), 5);
  replace_file(dir / "x", "");
  EXPECT_EQ(read_file(dir / "x"), "");
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "x"));  // no temporary file left
}

TEST(File, ReadsFilesWhoseSizeIsUnknown) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("Name:"));
}

TEST(File, AppendContinuesAtTheEnd) {
  const TempDir dir;
  replace_file(dir / "log", "one\n");
  FileWriter writer(dir / "log", WriteMode::kAppend);
  EXPECT_EQ(writer.size(), 4);
  writer.write("two\n");
  EXPECT_EQ(writer.size(), 8);
  writer.close();
  EXPECT_EQ(read_file(dir / "log"), "one\ntwo\n");
}

TEST(File, MovedWriterContinues) {
  const TempDir dir;
  FileWriter first(dir / "x");
  first.write("a");
  FileWriter second(std::move(first));
  second.write("b");
  second.close();
  EXPECT_EQ(read_file(dir / "x"), "ab");
}

TEST(File, ErrorsNamePathAndReason) {
  const TempDir dir;
  const auto throws = [](const auto& fn, const std::string& path, const char* reason) {
    EXPECT_THAT(
        fn, ThrowsMessage<StorageError>(AllOf(HasSubstr(path + ": cannot"), HasSubstr(reason))));
  };
  replace_file(dir / "file", "x");
  throws([&] { read_file(dir / "none"); }, dir / "none", "No such file");
  throws([&] { replace_file(dir / "none/x", ""); }, dir / "none/x", "create: No such file");
  throws([&] { make_directories(dir / "file/x"); }, dir / "file/x", "Not a directory");
  throws([&] { list_directory(dir / "file"); }, dir / "file", "Not a directory");
  throws([&] { file_bytes(dir / "none"); }, dir / "none", "No such file");
  throws([&] { rename_durably(dir / "none", dir / "y"); }, dir / "none", "No such file");
}

TEST(File, ReplaceableIsCheckedWithoutWriting) {
  const TempDir dir;
  replace_file(dir / "old", "kept");
  check_replaceable(dir / "old");
  check_replaceable(dir / "new");
  EXPECT_EQ(read_file(dir / "old"), "kept");
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "old"));
}

// Expects the error both from the check beforehand and from the write itself.
void expect_refused(const std::string& path, const std::string& reason) {
  EXPECT_EQ(error_of<StorageError>([&] { check_replaceable(path); }), path + ": cannot " + reason);
  EXPECT_EQ(error_of<StorageError>([&] { replace_file(path, "x"); }), path + ": cannot " + reason);
}

TEST(File, ErrorsNameThePathAsGiven) {
  const TempDir dir;
  replace_file(dir / "file", "x");
  expect_refused(dir / "missing/new", "create: No such file or directory");
  expect_refused(dir / "file/new", "create: Not a directory");
  expect_refused(dir.path().string(), "write a file: Is a directory");
  fs::create_directory_symlink(dir.path(), dir / "to_folder");
  expect_refused(dir / "to_folder", "write a file: Is a directory");
  fs::create_symlink("loop", dir / "loop");
  expect_refused(dir / "loop", "create: Too many levels of symbolic links");
  fs::create_symlink("missing/file", dir / "to_nowhere");
  expect_refused(dir / "to_nowhere", "create: No such file or directory");
}

TEST(File, ALinkStaysAndItsFileIsReplaced) {
  const TempDir dir;
  make_directories(dir / "far/away");
  replace_file(dir / "far/away/file", "old");
  fs::create_symlink("away/file", dir / "far/inner");
  fs::create_symlink(dir / "far/inner", dir / "outer");
  fs::create_symlink("far/created", dir / "dangling");
  for (const std::string& link : {std::string("outer"), std::string("dangling")}) {
    check_replaceable(dir / link);
    replace_file(dir / link, "new");
    EXPECT_TRUE(fs::is_symlink(dir / link));
    EXPECT_EQ(read_file(dir / link), "new");
  }
  EXPECT_TRUE(fs::is_symlink(dir / "far/inner"));
  EXPECT_EQ(read_file(dir / "far/away/file"), "new");
  EXPECT_FALSE(fs::is_symlink(dir / "far/created"));
  EXPECT_EQ(list_directory(dir / "far/away").size(), 1u) << "no temporary is left";
}

TEST(File, AFifoIsWrittenThrough) {
  const TempDir dir;
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("fifo", dir / "link");
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  for (const std::string& path : {fifo, dir / "link"}) {
    check_replaceable(path);
    replace_file(path, "for the reader");
    char text[32] = {};
    EXPECT_EQ(::read(reader, text, sizeof(text)), 14);
    EXPECT_STREQ(text, "for the reader");
    EXPECT_TRUE(fs::is_fifo(fifo));
  }
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  ::close(reader);
}

// Opening it would wait for a reader: for ever, and no signal would end the wait.
TEST(File, FifoWithoutAReaderIsRefused) {
  const TempDir dir;
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("fifo", dir / "link");
  for (const std::string& path : {fifo, dir / "link"}) {
    EXPECT_EQ(error_of<StorageError>([&] { replace_file(path, "x"); }),
              path + ": expected a FIFO or device with a reader, got none; start the reader first");
  }
}

TEST(File, AppendedAndNewFilesAreRegular) {
  const TempDir dir;
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const bool is_read : {false, true}) {
    const int reader = is_read ? ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK) : -1;
    for (const WriteMode mode : {WriteMode::kTruncate, WriteMode::kAppend}) {
      EXPECT_EQ(error_of<StorageError>([&] { FileWriter(fifo, mode); }),
                fifo + ": expected a regular file, got a FIFO");
      EXPECT_EQ(error_of<StorageError>([&] { FileWriter("/dev/null", mode); }),
                "/dev/null: expected a regular file, got a device");
    }
    EXPECT_EQ(error_of<StorageError>([&] { FileLock{fs::path(fifo)}; }),
              fifo + ": expected a regular file, got a FIFO");
    ::close(reader);
  }
}

TEST(File, OpenDescriptorsAreWrittenThrough) {
  const TempDir dir;
  const int open = ::open((dir / "out").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(open, 0);
  replace_file("/proc/self/fd/" + std::to_string(open), "printed");  // like /dev/stdout
  char text[32] = {};
  EXPECT_EQ(::pread(open, text, sizeof(text), 0), 7);
  EXPECT_STREQ(text, "printed");
  EXPECT_EQ(list_directory(dir.path()).size(), 1u);
  ::close(open);
}

TEST(File, ASocketIsRefused) {
  const TempDir dir;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = dir / "socket";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expect_refused(path, "open for writing: No such device or address");
  EXPECT_TRUE(fs::is_socket(path));
  ::close(socket);
}

TEST(File, FoldersAreMadeListedMovedAndRemoved) {
  const TempDir dir;
  make_directories(dir / "a/b/c");
  make_directories(dir / "a/b/c");  // already exists: no error
  replace_file(dir / "a/b/z", "");
  replace_file(dir / "a/b/.hidden", "");
  EXPECT_THAT(list_directory(dir / "a/b"),
              ElementsAre(dir / "a/b/.hidden", dir / "a/b/c", dir / "a/b/z"));
  rename_durably(dir / "a/b", dir / "moved");
  EXPECT_TRUE(directory_exists(dir / "moved/c"));
  EXPECT_FALSE(path_exists(dir / "a/b"));
  remove_tree(dir / "moved");
  remove_tree(dir / "moved");  // already gone: no error
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir / "a"));
}

TEST(File, ListsTheFoldersThatItCreated) {
  const TempDir dir;
  EXPECT_THAT(make_directories(dir / "a/b/c"), ElementsAre(dir / "a/b/c", dir / "a/b", dir / "a"));
  EXPECT_TRUE(make_directories(dir / "a/b").empty());
  replace_file(dir / "a/file", "x");
  EXPECT_THROW(make_directories(dir / "a/file/x/y"), StorageError);
  EXPECT_THAT(list_directory(dir / "a"), ElementsAre(dir / "a/b", dir / "a/file"));
}

TEST(ReadFile, OtherThanRegularFilesAreRefusedWithoutWaiting) {
  const TempDir dir;
  const auto error = [](const std::string& path) {
    return error_of<StorageError>([&] { read_file(path); });
  };
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error(fifo), fifo + ": expected a regular file, got a FIFO");
  EXPECT_EQ(error(dir.path()), dir.path().string() + ": expected a regular file, got a folder");
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: expected a regular file, got a device");
  fs::create_symlink(fifo, dir / "link");
  EXPECT_THAT(error(dir / "link"), HasSubstr("got a FIFO"));
}

TEST(ReadStream, ReadsPipesAndFilesToTheirEnd) {
  const TempDir dir;
  replace_file(dir / "file", "text");
  EXPECT_EQ(read_stream(dir / "file", 100), "text");
  const auto error = [](const std::string& path) {
    return error_of<StorageError>([&] { read_stream(path, 1 << 20); });
  };
  // A pipe, as a shell passes it for <(command): written in two parts, with a pause between.
  const std::string long_text(300'000, 'x');
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (size_t i = 0; i < long_text.size();) {
      const ssize_t n = ::write(ends[1], long_text.data() + i, long_text.size() - i);
      if (n > 0) i += static_cast<size_t>(n);
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(read_stream("/dev/fd/" + std::to_string(ends[0]), 1 << 20), long_text);
  writer.join();
  ::close(ends[0]);
  // Nothing is waited for that may never come.
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error(fifo), fifo + ": expected something to read, got a FIFO that holds nothing");
  EXPECT_THAT(error("/dev/null"), HasSubstr("got a device that holds nothing"));
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: expected at most 1048576 bytes, got more");
  EXPECT_EQ(error(dir.path()), dir.path().string() + ": expected a regular file, got a folder");
}

TEST(ReadFile, SizesAreLimited) {
  const TempDir dir;
  replace_file(dir / "x", "12345");
  EXPECT_EQ(read_file(dir / "x", 5), "12345");
  EXPECT_EQ(error_of<StorageError>([&] { read_file(dir / "x", 4); }),
            (dir / "x") + ": expected at most 4 bytes, got 5");
  EXPECT_THAT(error_of<StorageError>([] { read_file("/proc/self/status", 10); }),
              HasSubstr("expected at most 10 bytes, got more"));
  fs::resize_file(dir / "x", uint64_t{1} << 40);  // a sparse file: all of it is a hole
  EXPECT_THAT(error_of<StorageError>([&] { read_file(dir / "x"); }),
              HasSubstr("got 1099511627776"));
}

TEST(FileReader, ReadsAtAnyOffsetAndReportsTheEnd) {
  const TempDir dir;
  replace_file(dir / "x", "hello");
  FileReader file(dir / "x");
  EXPECT_EQ(file.size(), 5);
  std::string bytes(3, '\0');
  file.read_at(1, std::as_writable_bytes(std::span(bytes)));
  EXPECT_EQ(bytes, "ell");
  EXPECT_THAT(
      error_of<StorageError>([&] { file.read_at(3, std::as_writable_bytes(std::span(bytes))); }),
      HasSubstr("offset 5: expected 1 more bytes"));
  EXPECT_EQ(file.read_some(5, std::as_writable_bytes(std::span(bytes))), 0u);

  // Another process truncates the file: an error with the offset, where a mapping would raise a
  // signal.
  fs::resize_file(dir / "x", 2);
  EXPECT_THAT(
      error_of<StorageError>([&] { file.read_at(0, std::as_writable_bytes(std::span(bytes))); }),
      HasSubstr("offset 2: expected 1 more bytes"));
}

TEST(FileReader, HashOfAFileEqualsThatOfItsBytes) {
  const TempDir dir;
  const std::string bytes(3'000'001, 'x');
  replace_file(dir / "x", bytes);
  EXPECT_EQ(sha256_of_file(dir / "x"), sha256_hex(bytes));
}

}  // namespace
}  // namespace axle
