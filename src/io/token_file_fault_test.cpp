// Damaged and hostile token files: one clear line with file and offset, in little time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "io/file.h"
#include "io/token_file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/lfs_pointer.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenFileFault : public ::testing::Test {
 protected:
  TokenFileFault() {
    index_ = read_file(reference_file("token_files/parts.idx"));
    ids_ = read_file(reference_file("token_files/parts.bin"));
  }
  void write() const {
    FileWriter(dir_ / "a.idx").write(index_);
    FileWriter(dir_ / "a.bin").write(ids_);
  }
  template <class T>
  void put(size_t offset, T value) {
    std::memcpy(index_.data() + offset, &value, sizeof(T));
  }
  std::string refusal() const {
    write();
    const Thrown thrown = thrown_by<Error>([&] { TokenFile(dir_ / "a"); });
    EXPECT_EQ(thrown.code, ExitCode::kData) << thrown.message;
    return thrown.message;
  }
  TempDir dir_;
  std::string index_, ids_;
};

TEST_F(TokenFileFault, GitLfsPointersAreNamedInEitherPart) {
  ids_ = kLfsPointer;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a.bin: expected ids of a token file, got"),
                               HasSubstr(kLfsPointerNamed)));
  index_ = kLfsPointer;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("a.idx: offset 0: expected an index of a token file"),
                               HasSubstr(kLfsPointerNamed)));
}

TEST_F(TokenFileFault, OtherFilesAreRefused) {
  write();
  replace_file(dir_ / "a.json", "{}");
  EXPECT_THAT(
      error_of<DataError>([&] { TokenFile(dir_ / "a.json"); }),
      HasSubstr("a.json: expected PREFIX of a token file's PREFIX.bin and PREFIX.idx, got a "
                "file; name " +
                std::string(dir_ / "a")));
  replace_file(dir_ / "chat.jsonl", "{}");
  EXPECT_THAT(error_of<DataError>([&] { TokenFile(dir_ / "chat.jsonl"); }),
              HasSubstr("got a file; axle data build makes token files of texts"));
}

TEST_F(TokenFileFault, HeaderFields) {
  const std::string good = index_;
  EXPECT_THAT(
      error_of<DataError>([&] { TokenFile(dir_ / "none"); }),
      HasSubstr("none.idx: expected a part of a token file (PREFIX.bin and PREFIX.idx), got "
                "nothing there"));
  index_ = "";
  EXPECT_THAT(refusal(), HasSubstr("a.idx: offset 0: expected an index of a token file"));
  index_ = good.substr(0, 20);
  EXPECT_THAT(refusal(), HasSubstr("offset 20: expected a header of 34 bytes, got less"));
  index_ = good;
  put<uint64_t>(9, 2);
  EXPECT_THAT(refusal(), HasSubstr("offset 9: expected version 1, got 2"));
  index_ = good;
  put<uint8_t>(17, 7);
  EXPECT_THAT(refusal(), HasSubstr("offset 17: expected a type of integers (1 to 5 or 8), got 7"));
  index_ = good;
  put<uint64_t>(18, std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(refusal(), HasSubstr("offset 18: expected counts for"));
  index_ = good;
  put<uint64_t>(26, 3);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("offset 18: expected"), HasSubstr("a file of")));
  index_ = good + "xx";
  EXPECT_THAT(refusal(), HasSubstr("a file of"));
}

TEST_F(TokenFileFault, OffsetsOutsideTheFile) {
  const std::string good = index_;
  uint64_t count = 0;
  std::memcpy(&count, good.data() + 18, 8);
  const size_t offsets = 34 + 4 * count, documents = 34 + 12 * count;
  put<int32_t>(34 + 4, -5);
  EXPECT_THAT(refusal(), HasSubstr("offset 38: expected a length of 0 or more, got -5"));
  index_ = good;
  put<int32_t>(34 + 4, std::numeric_limits<int32_t>::max());
  EXPECT_THAT(refusal(), HasSubstr("expected a place of 4294967294 bytes in a.bin of 216 bytes"));
  for (const int64_t offset : {int64_t{-2}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    index_ = good;
    put<int64_t>(offsets, offset);
    EXPECT_THAT(refusal(), HasSubstr("expected a place of")) << offset;
  }
  index_ = good;
  put<int64_t>(offsets + 8 * 2, 0);  // the second half of document 1
  EXPECT_THAT(refusal(), HasSubstr("expected the end of the sequence before, 4, got 0"));
  for (const int64_t sequence : {int64_t{-1}, int64_t{1000}}) {
    index_ = good;
    put<int64_t>(documents + 8 * 3, sequence);
    EXPECT_THAT(refusal(), HasSubstr("expected a sequence of")) << sequence;
  }
  index_ = good;
  put<int64_t>(documents, 1);
  EXPECT_THAT(refusal(), HasSubstr("expected the first sequence, 0, got 1"));
  index_ = good;
  ids_.resize(ids_.size() - 1);
  EXPECT_THAT(refusal(), HasSubstr("in a.bin of 215 bytes"));
}

TEST_F(TokenFileFault, DamageAtRandom) {
  write();
  int refused = 0;
  for (const std::string& damaged : mutants(index_, 2000, 40)) {
    FileWriter(dir_ / "a.idx").write(damaged);
    refused += ends_well(
        [&] {
          const TokenFile file(dir_ / "a");
          for (int64_t i = 0; i < file.num_documents(); ++i) file.ids_of(i);
        },
        {ExitCode::kData}, "at random");
  }
  EXPECT_GT(refused, 1500);
}

}  // namespace
}  // namespace axle
