// Damaged and hostile GGUF files: one clear line with file and offset, in little time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/save_gguf.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/mutants.h"
#include "testing/peak_memory.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The bytes of a file, part by part.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Bytes& text(std::string_view text) {
    number<uint64_t>(text.size());
    out_ += text;
    return *this;
  }
  Bytes& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  Bytes& header(uint64_t num_tensors, uint64_t num_keys, uint32_t version = 3) {
    return raw("GGUF").number(version).number(num_tensors).number(num_keys);
  }
  Bytes& key(std::string_view name, GgufType type) {
    return text(name).number(static_cast<uint32_t>(type));
  }
  Bytes& array(GgufType type, uint64_t count) {
    return number(static_cast<uint32_t>(type)).number(count);
  }
  Bytes& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) number(dim);
    return number(type).number(offset);
  }
  /// Fills up to the alignment, then with `n` bytes of data.
  Bytes& data(size_t n) {
    out_.append((32 - out_.size() % 32) % 32 + n, '\0');
    return *this;
  }
  operator std::string() const { return out_; }

 private:
  std::string out_;
};

class GgufFault : public ::testing::Test {
 protected:
  // Writes without the waits of an atomic replacement.
  void write(const std::string& bytes) const {
    FileWriter writer(path_);
    writer.write(bytes);
    writer.close();
  }
  std::string error(const std::string& bytes) const {
    write(bytes);
    return error_of<DataError>([&] { GgufFile file(path_); });
  }
  void expect_refused(const std::string& bytes, int64_t offset, std::string_view reason) const {
    EXPECT_THAT(error(bytes), AllOf(StartsWith(path_ + ": offset " + std::to_string(offset) + ": "),
                                    HasSubstr(reason)));
  }
  void read_all() const {
    const GgufFile file(path_);
    for (const std::string& name : file.names()) {
      EXPECT_LE(file.tensor(name).num_bytes, file_bytes(path_));
      if (file.tensor(name).type->dequantize != nullptr) file.get(name);
    }
  }
  static std::string small() { return read_file(reference_file("gguf/small.gguf")); }

  TempDir dir_;
  std::string path_ = dir_ / "x.gguf";
};

TEST_F(GgufFault, EveryCutIsFound) {
  const std::string bytes = small();
  // The padding behind the last tensor may be missing.
  const size_t data_end = bytes.size() - (32 - 6 * 34 % 32) % 32;
  for (size_t size = 0; size < data_end; ++size) {
    EXPECT_THAT(error(bytes.substr(0, size)),
                StartsWith(path_ + (size < 4 ? ": expected a GGUF file" : ": offset ")))
        << size;
  }
  write(bytes.substr(0, data_end));
  read_all();
}

TEST_F(GgufFault, DamagedFilesAreReadOrRefused) {
  int refused = 0;
  for (const std::string& bytes :
       {small(), read_file(source_file("fuzz/seeds/gguf/every_block.gguf"))}) {
    for (const std::string& damaged : mutants(bytes, 1000, 1000)) {
      write(damaged);
      refused += ends_well([&] { read_all(); }, {ExitCode::kData}, "at random");
    }
  }
  EXPECT_GT(refused, 500);
}

TEST_F(GgufFault, CountsBeyondTheFileAreRefusedBeforeMemoryIsTaken) {
  const int64_t before = peak_resident_bytes();
  for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 40, ~uint64_t{0}}) {
    const std::string shown = std::to_string(count);
    expect_refused(Bytes().header(count, 0).data(100), 8, "got " + shown);
    expect_refused(Bytes().header(0, count).data(100), 16, "got " + shown);
    for (uint32_t type = 0; type < kNumGgufTypes; ++type) {
      const Bytes bytes = Bytes().header(0, 1).key("k", GgufType::kArray);
      expect_refused(Bytes(bytes).array(static_cast<GgufType>(type), count).data(100), 41,
                     "got " + shown);
    }
    expect_refused(Bytes().header(0, 1).key("k", GgufType::kText).number(count).data(100), 37,
                   "a length of " + shown);
    expect_refused(Bytes().header(0, 1).number(count).data(100), 24, "a length of " + shown);
    expect_refused(Bytes().header(1, 0).number(count).data(100), 24, "a length of " + shown);
  }
  EXPECT_LT(peak_resident_bytes() - before, int64_t{64} << 20);
}

TEST_F(GgufFault, NestedArraysEnd) {
  Bytes bytes = Bytes().header(0, 1).key("k", GgufType::kArray);
  for (int i = 0; i < 100'000; ++i) bytes.array(GgufType::kArray, 1);
  expect_refused(bytes, 37 + 8 * 12, "at most 8 nested arrays");
}

TEST_F(GgufFault, HeadersWithoutEndAreRefused) {
  // A file with holes on the disk: its array of bytes is longer than any header.
  const uint64_t size = uint64_t{1} << 32;
  write(Bytes().header(0, 1).key("k", GgufType::kArray).array(GgufType::kU8, size - 100));
  std::filesystem::resize_file(path_, size);
  const LittleMemory limit(int64_t{256} << 20);
  EXPECT_THAT(error_of<DataError>([&] { GgufFile file(path_); }),
              HasSubstr("expected a header of at most 100000000 bytes"));
}

TEST_F(GgufFault, BadHeadersAreRefusedWithTheReason) {
  const auto one = [](const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    return Bytes().header(1, 0).tensor("a", dims, type, offset).data(128);
  };
  expect_refused(Bytes().header(0, 0, 1), 4, "version 1; convert the model again");
  expect_refused(Bytes().header(0, 0, 4), 4, "expected version 2 or 3, got version 4");
  expect_refused(Bytes().header(0, 0, 3u << 24), 4, "a big-endian file");
  expect_refused(Bytes().header(0, 1).key("k", GgufType{13}).data(32), 33,
                 "the type of a value, 0 to 12, got 13");
  expect_refused(Bytes().header(0, 1).key("k", GgufType::kArray).array(GgufType{77}, 0), 37,
                 "the type of an array's elements, 0 to 12, got 77");
  expect_refused(Bytes().header(0, 1).key("k", GgufType::kBool).number<uint8_t>(2), 37,
                 "a bool, 0 or 1, got 2");
  expect_refused(Bytes().header(0, 1).key("", GgufType::kU8).number<uint8_t>(2), 24,
                 "a key in UTF-8, got ''");
  expect_refused(Bytes().header(0, 1).key("\xff", GgufType::kU8).number<uint8_t>(2), 24,
                 "a key in UTF-8");
  expect_refused(Bytes()
                     .header(0, 2)
                     .key("k", GgufType::kU8)
                     .number<uint8_t>(1)
                     .key("k", GgufType::kU8)
                     .number<uint8_t>(1),
                 38, "'k' twice");
  expect_refused(one({1, 1, 1, 1, 1}, 0, 0), 33, "of rank 0 to 4, got 5");
  expect_refused(one({uint64_t{1} << 40, uint64_t{1} << 40}, 0, 0), 37, "values");
  expect_refused(one({~uint64_t{0}}, 0, 0), 37, "values");
  expect_refused(one({32}, 4, 0), 45, "of a known type, got 4");
  expect_refused(one({33}, 8, 0), 45, "of Q8_0, whose last dim is a multiple of 32, got [33]");
  expect_refused(one({}, 8, 0), 37, "of Q8_0, whose last dim");
  expect_refused(one({32}, 0, 16), 24, "at a multiple of 32, got 16");
  expect_refused(one({64}, 0, 0), 24, "256 bytes of data from 0 on; the file may be cut off");
  expect_refused(one({8}, 0, 128), 24, "32 bytes of data from 128 on");
  expect_refused(one({8}, 0, ~uint64_t{31}), 49, "bytes of data from 18446744073709551584 on");
  expect_refused(Bytes().header(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).data(64), 57,
                 "'a' twice");
  expect_refused(Bytes().header(2, 0).tensor("a", {8}, 0, 32).tensor("b", {9}, 0, 0).data(64), 24,
                 "tensor 'a' behind 'b', got an overlap");
}

TEST_F(GgufFault, AlignmentIsAPowerOfTwo) {
  for (const uint32_t alignment : {0u, 3u, 48u}) {
    EXPECT_THAT(
        error(Bytes().header(0, 1).key("general.alignment", GgufType::kU32).number(alignment)),
        HasSubstr("key 'general.alignment': expected "));
  }
  write(Bytes().header(0, 1).key("general.alignment", GgufType::kU32).number(1u << 31));
  EXPECT_TRUE(GgufFile(path_).names().empty());
}

TEST_F(GgufFault, AFileCutWhileItIsReadIsAnErrorOfStorage) {
  write(small());
  const GgufFile file(path_);
  std::filesystem::resize_file(path_, 1300);
  for (const std::string& name : file.names()) {
    const auto read = [&] { return file.get(name); };
    if (file.tensor(name).offset + file.tensor(name).num_bytes > 1300)
      EXPECT_THAT(error_of<StorageError>(read), HasSubstr("it was cut off")) << name;
    else
      EXPECT_EQ(error_of<StorageError>(read), "no error") << name;
  }
}

TEST_F(GgufFault, AFullDiskLeavesTheFileAsItWas) {
  write("before");
  const GgufTensorToSave tensor{"a", "F32", {4096}, [] { return HostTensor::ones({4096}); }};
  const FileSizeLimit limit(8192);
  EXPECT_THAT(error_of<StorageError>([&] { save_gguf(path_, {}, std::span(&tensor, 1)); }),
              HasSubstr("cannot write at offset"));
  EXPECT_EQ(read_file(path_), "before");
}

}  // namespace
}  // namespace axle
