#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         std::string(data_bytes, '\0');
}

class Safetensors : public ::testing::Test {
 protected:
  void expect_refused(const std::string& bytes, const std::string& reason) {
    replace_file(path_, bytes);
    EXPECT_THAT(
        [&] { SafetensorsFile file(path_); },
        ThrowsMessage<StorageError>(AllOf(HasSubstr(path_ + ": offset "), HasSubstr(reason))));
  }
  TempDir dir_;
  std::string path_ = dir_ / "x.safetensors";
};

Tree<HostTensor> every_dtype() {
  return {{"bool", HostTensor({3}, {true, false, true})},
          {"i32", HostTensor({2, 2}, {1, -2, 3, 1 << 30})},
          {"i64", HostTensor({1}, {int64_t{-5} << 40})},
          {"u32", HostTensor({2}, {0u, ~0u})},
          {"u64", HostTensor::scalar(~uint64_t{0})},
          {"bf16", HostTensor({3}, {BF16(1.5f), BF16(-0.0f), BF16(3e38f)})},
          {"f32", HostTensor({2, 0, 3}, std::span<const float>{})},
          {"f64", HostTensor({1, 3}, {0.1, -1e300, 5e-324})},
          {"nested/name \"quoted\" \xc3\xa9", HostTensor::scalar(1.0f)}};
}

TEST_F(Safetensors, EveryDTypeComesBackBitForBit) {
  save_safetensors(path_, every_dtype(), {{"format", "axle"}, {"step", "12"}});
  const SafetensorsFile file(path_);
  EXPECT_EQ(load_safetensors(path_), every_dtype());
  EXPECT_EQ(file.metadata().at("step"), "12");
  EXPECT_EQ(file.names().size(), every_dtype().size());
  EXPECT_EQ(file.type("i32"), (Type{DType::kI32, {2, 2}}));
  EXPECT_TRUE(file.contains("u64"));
  EXPECT_THAT([&] { file.get("none"); },
              ThrowsMessage<StorageError>(HasSubstr("expected a tensor 'none'")));
}

TEST_F(Safetensors, FileMayHoldNoTensors) {
  save_safetensors(path_, {});
  EXPECT_TRUE(load_safetensors(path_).empty());
}

TEST_F(Safetensors, DataAreAlignedToTheirElements) {
  save_safetensors(path_, every_dtype());
  const std::string bytes = read_file(path_);
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_THAT(bytes.substr(8, length),
              HasSubstr(R"("f64":{"dtype":"F64","shape":[1,3],"data_offsets":[0,24]})"));
}

TEST_F(Safetensors, ReadsAHeaderWrittenByHand) {
  replace_file(path_, file_of(R"(  {"b":{"data_offsets":[4,8],"shape":[],"dtype":"I32"},
                                    "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )",
                              8));
  EXPECT_THAT(SafetensorsFile(path_).names(), ElementsAre("a", "b"));
  EXPECT_EQ(SafetensorsFile(path_).get("b"), HostTensor::scalar(0));
}

TEST_F(Safetensors, UnsupportedDtypesAreRefusedByNameForTheirTensorOnly) {
  replace_file(path_, file_of(R"({"a":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]},
                                  "b":{"dtype":"I32","shape":[],"data_offsets":[4,8]},
                                  "c":{"dtype":"F4","shape":[7],"data_offsets":[8,12]}})",
                              12));
  const SafetensorsFile file(path_);
  EXPECT_THAT([&] { file.get("a"); },
              ThrowsMessage<StorageError>(
                  AllOf(HasSubstr("tensor 'a' of one of BOOL, I8"), HasSubstr("got F8_E8M0"))));
  EXPECT_THAT([&] { file.type("c"); }, ThrowsMessage<StorageError>(HasSubstr("got F4")));
  EXPECT_EQ(file.get("b").size(), 1);
}

TEST_F(Safetensors, BadHeadersAreRefusedWithTheReason) {
  const auto one = [](const std::string& fields) { return R"({"a":{)" + fields + "}}"; };
  expect_refused(file_of(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 4),
                 "the file may be cut off");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4),
                 "the bytes of F32[2]");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 5),
                 "1 byte that belong to no tensor");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8), "a hole");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 8),
                 "data_offsets [4,0]");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
                 "['a'].shape[0]: expected an integer of 0 to ");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), 4),
                 "['a'].shape[0]: expected an integer of 0 to ");
  expect_refused(
      file_of(one(R"("dtype":"F32","shape":[4294967296,4294967297],"data_offsets":[0,4])"), 4),
      "the bytes of");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4),
                 "['a'].data_offsets: expected two numbers");
  expect_refused(file_of(one(R"("dtype":"F32","shape":[1])"), 4),
                 "expected the field 'data_offsets'");
  expect_refused(file_of(one(R"("dtype":7,"shape":[1],"data_offsets":[0,4])"), 4),
                 "['a'].dtype: expected a text, got 7");
  expect_refused(file_of("{]", 0), "byte 2: expected JSON");
  expect_refused(file_of(R"({"__metadata__":{"a":1}})", 0),
                 "['__metadata__']['a']: expected a text, got 1");
  expect_refused(file_of(one(R"("dtype":"F32","shape":)" + std::string(100'000, '[')), 0),
                 "at most 64 nested objects and lists");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                             "b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                         6),
                 "an overlap");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                             "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                         4),
                 "'a' twice");
  expect_refused(std::string(8, '\xff') + "{", "a header of at most");
}

TEST_F(Safetensors, ErrorsNameOtherFileFormats) {
  const auto expect_kind = [&](const std::string& bytes, const std::string& kind) {
    replace_file(path_, bytes);
    EXPECT_EQ(error_of<StorageError>([&] { SafetensorsFile file(path_); }),
              path_ + ": expected a safetensors file, got " + kind);
  };
  const std::string writer = "; the Python package safetensors writes one (save_file)";
  expect_kind("", "an empty file" + writer);
  expect_kind("PK\x03\x04 and so on", "a zip archive, as of PyTorch or NumPy" + writer);
  expect_kind("\x93NUMPY\x01 and so on", "a NumPy array" + writer);
  expect_kind("\x80\x04\x95 and so on",
              "a Python pickle; reading one may run any code; save its tensors as safetensors "
              "(transformers: model.save_pretrained(DIR))");
  expect_kind("class: Linear\nconfig: {}\n", "a text that begins with 'class: Linear'" + writer);
  expect_kind(std::string(20, '\xff'), "20 bytes of something else" + writer);
  expect_kind(file_of("[]", 0), "10 bytes of something else" + writer);
}

}  // namespace
}  // namespace axle
