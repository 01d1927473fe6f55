// Files written by the Python package gguf, and files of our own that it can read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/save_gguf.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What testdata/reference/gguf/small.gguf holds (tools/oracle/gguf_numbers.py).
GgufMetadata small_metadata() {
  GgufMetadata out;
  out.set("general.architecture", "llama");
  out.set("of.u8", uint8_t{200});
  out.set("of.i8", int8_t{-100});
  out.set("of.u16", uint16_t{60000});
  out.set("of.i16", int16_t{-30000});
  out.set("of.u32", uint32_t{4000000000});
  out.set("of.i32", int32_t{-2000000000});
  out.set("of.u64", (uint64_t{1} << 63) + 5);
  out.set("of.i64", -(int64_t{1} << 62));
  out.set("of.f32", 0.1f);
  out.set("of.f64", 0.1);
  out.set("of.bool", true);
  out.set("of.text", "caf\xc3\xa9 \xf0\x9f\x98\x80");
  out.set("of.texts", std::vector<std::string>{"<s>", "", "a b"});
  out.set("of.f32s", std::vector<float>{0.5f, -1.25f});
  out.set("of.i32s", std::vector<int32_t>{1, -2, 3});
  out.set("of.bools", {GgufType::kBool, std::string("\1\0", 2)});
  return out;
}

HostTensor small_values(Shape shape) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  for (int64_t i = 0; i < out.size(); ++i) out.values<float>()[i] = static_cast<float>(i - 90) / 7;
  return out;
}

std::vector<GgufTensorToSave> small_tensors() {
  HostTensor first(Type{DType::kF32, {3, 5}});
  const HostTensor all = small_values({3, 64});
  for (size_t i = 0; i < 15; ++i)
    first.values<float>()[i] = all.values<float>()[i / 5 * 64 + i % 5];
  return {{"a.weight", "F32", {3, 5}, [first] { return first; }},
          {"b.weight",
           "F16",
           {2, 96},
           [] {
             return small_values({2, 96});
           }},
          {"c.weight",
           "BF16",
           {3, 64},
           [] {
             return small_values({3, 64});
           }},
          {"d.weight", "Q8_0", {3, 64}, [] {
             return small_values({3, 64});
           }}};
}

class Gguf : public ::testing::Test {
 protected:
  static std::string small_file() { return reference_file("gguf/small.gguf"); }
  std::string refused(const GgufTensorToSave& tensor) const {
    return error_of<DataError>([&] { save_gguf(path_, {}, std::span(&tensor, 1)); });
  }
  std::string open_error() const {
    return error_of<DataError>([&] { GgufFile file(path_); });
  }

  TempDir dir_;
  std::string path_ = dir_ / "x.gguf";
};

TEST_F(Gguf, MetadataMayBeAFileWithoutTensors) {
  const GgufMetadata metadata = small_metadata();
  replace_file(path_, gguf_without_tensors(metadata));
  const GgufFile file(path_);
  EXPECT_TRUE(file.names().empty());
  EXPECT_EQ(file.metadata().entries().size(), metadata.entries().size());
  for (const auto& [key, value] : metadata.entries())
    EXPECT_EQ(file.metadata().at(key).value(), value) << key;
}

TEST_F(Gguf, ReadsEveryTypeOfMetadata) {
  const GgufFile file(small_file());
  EXPECT_EQ(file.version(), 3u);
  const GgufMetadata& read = file.metadata();
  const GgufMetadata expected = small_metadata();
  ASSERT_EQ(read.entries().size(), expected.entries().size());
  for (size_t i = 0; i < expected.entries().size(); ++i) {
    EXPECT_EQ(read.entries()[i].key, expected.entries()[i].key);
    EXPECT_EQ(read.entries()[i].value, expected.entries()[i].value) << expected.entries()[i].key;
  }
  EXPECT_EQ(read.at("of.u32").integer(0, INT64_MAX), 4000000000);
  EXPECT_EQ(read.at("of.i16").number(), -30000);
  EXPECT_EQ(read.at("of.f32").number(), 0.1f);
  EXPECT_TRUE(read.at("of.bool").boolean());
  EXPECT_EQ(read.at("of.text").text(), "caf\xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_THAT(read.at("of.texts").texts(), ElementsAre("<s>", "", "a b"));
  EXPECT_THAT(read.at("of.i32s").integers(-5, 5), ElementsAre(1, -2, 3));
  EXPECT_THAT(read.at("of.f32s").numbers(), ElementsAre(0.5f, -1.25f));
  EXPECT_THAT(read.at("of.bools").booleans(), ElementsAre(true, false));
  EXPECT_FALSE(read.find("of.none"));
}

TEST_F(Gguf, WrongTypesAreNamedWithTheirKey) {
  const GgufFile file(small_file());
  const GgufMetadata& m = file.metadata();
  const std::string key = small_file() + ": key 'of.";
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.u8").text(); }),
            key + "u8': expected a text, got u8 200");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.u8").integer(0, 100); }),
            key + "u8': expected an integer of 0 to 100, got u8 200");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.u64").integer(0, INT64_MAX); }),
            key +
                "u64': expected an integer of 0 to 9223372036854775807, got u64 "
                "9223372036854775813");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.f32").integer(0, 1); }),
            key + "f32': expected an integer of 0 to 1, got f32 0.1");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.bool").number(); }),
            key + "bool': expected a number, got bool true");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.texts").numbers(); }),
            key + "texts': expected an array of numbers, got array of 3 text");
  EXPECT_EQ(error_of<DataError>([&] { m.at("of.i32s").integers(0, 9); }),
            key + "i32s'[1]: expected an integer of 0 to 9, got -2");
  EXPECT_EQ(error_of<DataError>([&] { m.at("none"); }),
            small_file() + ": expected the key 'none', got 17 others");
}

TEST_F(Gguf, ReadsNestedArraysAndAlignmentOfThePackage) {
  const GgufFile file(source_file("fuzz/seeds/gguf/every_block.gguf"));
  const std::vector<GgufView> nested = file.metadata().at("nested").arrays();
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_THAT(nested[0].integers(0, 9), ElementsAre(1, 2));
  EXPECT_THAT(nested[1].integers(0, 9), ElementsAre(3));
  EXPECT_THAT(error_of<DataError>([&] { nested[1].integers(4, 9); }),
              HasSubstr("key 'nested'[1][0]: expected an integer of 4 to 9, got 3"));
  EXPECT_EQ(file.names().size(), 8u);
  for (const std::string& name : file.names()) {
    EXPECT_EQ(file.tensor(name).offset % 64, 0) << name;
    EXPECT_EQ(file.get(name).size(), file.tensor(name).type->num_values) << name;
  }
}

TEST_F(Gguf, ReadsTensorsOnDemandInTheirOwnDTypesAndBlocksAsF32) {
  const GgufFile file(small_file());
  EXPECT_THAT(file.names(), ElementsAre("a.weight", "b.weight", "c.weight", "d.weight"));
  EXPECT_EQ(file.get("a.weight"), small_tensors()[0].values());
  EXPECT_EQ(file.get("b.weight"), small_values({2, 96}).astype(DType::kF16));
  EXPECT_EQ(file.get("c.weight"), small_values({3, 64}).astype(DType::kBF16));
  EXPECT_EQ(file.type("d.weight"), (Type{DType::kF32, {3, 64}}));
  const HostTensor blocks = file.get("d.weight"), exact = small_values({3, 64});
  for (int64_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(blocks.at(i), exact.at(i), 0.06);
  EXPECT_EQ(file.tensor("d.weight").type->name, "Q8_0");
  EXPECT_EQ(file.get_blocks("d.weight").size(), 6 * 34u);
  EXPECT_EQ(error_of<DataError>([&] { file.get("e"); }),
            small_file() + ": expected a tensor 'e', got 4 others");
}

TEST_F(Gguf, RowsMatchTheWholeTensor) {
  const GgufFile file(small_file());
  for (const char* name : {"c.weight", "d.weight"}) {
    const HostTensor whole = file.get(name).astype(DType::kF32);
    const HostTensor rows = file.get_rows(name, 1, 3).astype(DType::kF32);
    EXPECT_EQ(rows, HostTensor({2, 64}, whole.values<float>().subspan(64)));
    EXPECT_EQ(file.get_rows(name, 2, 2).size(), 0);
    const std::vector<std::byte> blocks = file.get_blocks(name);
    const auto second = blocks.begin() + std::ssize(blocks) / 3;
    EXPECT_EQ(file.get_blocks(name, 1, 3), std::vector<std::byte>(second, blocks.end()));
    EXPECT_EQ(file.get_blocks(name, 2, 2).size(), 0u);
  }
}

TEST_F(Gguf, WritesTheBytesThatThePackageWrites) {
  save_gguf(path_, small_metadata(), small_tensors());
  EXPECT_EQ(read_file(path_), read_file(small_file()));
}

TEST_F(Gguf, ReadsWhatItWrote) {
  GgufMetadata metadata;
  metadata.set("general.alignment", uint32_t{128});
  metadata.set("nested", std::vector<GgufValue>{std::vector<int8_t>{1, 2}, std::vector<int8_t>{},
                                                std::vector<std::string>{"x"}});
  metadata.set("empty", std::vector<std::string>{});
  const HostTensor scalar = HostTensor::scalar(3.5f), none(Type{DType::kF32, {0, 32}}),
                   half = small_values({4, 32}).astype(DType::kBF16);
  save_gguf(path_, metadata,
            std::vector<GgufTensorToSave>{{"scalar", "F32", {}, [&] { return scalar; }},
                                          {"none", "Q8_0", {0, 32}, [&] { return none; }},
                                          {"half", "BF16", {4, 32}, [&] { return half; }},
                                          {"again", "F16", {4, 32}, [&] { return half; }}});
  const GgufFile file(path_);
  for (const auto& [key, value] : metadata.entries())
    EXPECT_EQ(file.metadata().at(key).value(), value) << key;
  EXPECT_THAT(file.metadata().at("nested").arrays()[0].integers(0, 9), ElementsAre(1, 2));
  EXPECT_EQ(file.get("scalar"), scalar);
  EXPECT_EQ(file.get("none"), none);
  EXPECT_EQ(file.get("half"), half);
  EXPECT_EQ(file.get("again"), half.astype(DType::kF32).astype(DType::kF16));
  EXPECT_EQ(file.tensor("half").offset % 128, 0);
  EXPECT_EQ(file_bytes(path_) % 128, 0);
}

TEST_F(Gguf, Version2IsReadToo) {
  std::string bytes = read_file(small_file());
  bytes[4] = 2;
  replace_file(path_, bytes);
  EXPECT_EQ(GgufFile(path_).version(), 2u);
  EXPECT_EQ(GgufFile(path_).get("d.weight"), GgufFile(small_file()).get("d.weight"));
}

TEST_F(Gguf, UnsupportedTypesAreRefusedByNameForTheirTensorOnly) {
  std::string bytes = read_file(small_file());
  const size_t at = bytes.find("a.weight") + 8;  // rank, dims, type
  const uint64_t dims[] = {256, 1};
  std::memcpy(bytes.data() + at + 4, dims, sizeof(dims));
  bytes[at + 20] = 16;  // IQ2_XXS: 66 bytes a block
  bytes.insert(bytes.size(), 64, '\0');
  // The first tensor takes 66 bytes where it had 60: the others begin 64 bytes later.
  replace_file(path_, bytes);
  EXPECT_THAT(open_error(), HasSubstr("an overlap"));
  for (const char name : {'b', 'c', 'd'}) {
    const size_t offset = bytes.find(std::string(1, name) + ".weight") + 8 + 4 + 16 + 4;
    uint64_t value;
    std::memcpy(&value, bytes.data() + offset, 8);
    value += 32;
    std::memcpy(bytes.data() + offset, &value, 8);
  }
  replace_file(path_, bytes);
  const GgufFile file(path_);
  EXPECT_THAT(error_of<DataError>([&] { file.get("a.weight"); }),
              HasSubstr("expected tensor 'a.weight' of one of F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, "
                        "Q8_0, Q4_K, Q5_K, Q6_K, I8, I16, I32, I64, F64, BF16, got IQ2_XXS"));
  EXPECT_EQ(file.get_blocks("a.weight").size(), 66u);
}

TEST_F(Gguf, ErrorsNameOtherFileFormats) {
  replace_file(path_, "PK\x03\x04 and so on");
  EXPECT_EQ(open_error(),
            path_ + ": expected a GGUF file, got a zip archive, as of PyTorch or NumPy");
  replace_file(path_, std::string(20, '\xff'));
  EXPECT_EQ(open_error(), path_ + ": expected a GGUF file, got 20 bytes of something else");
  EXPECT_THAT(error_of<DataError>([&] { GgufFile file(dir_ / "none"); }),
              HasSubstr("none: cannot open"));
}

TEST_F(Gguf, RefusedWriteLeavesTheOldFile) {
  replace_file(path_, "before");
  const auto ones = [](Shape shape) { return [shape] { return HostTensor::ones(shape); }; };
  EXPECT_THAT(refused({std::string(64, 'x'), "F32", {1}, ones({1})}),
              HasSubstr("expected a name of 1 to 63 bytes of UTF-8, got 64 bytes"));
  EXPECT_EQ(refused({"a", "F32", {1, 1, 1, 1, 1}, ones({1, 1, 1, 1, 1})}),
            path_ + ": tensor 'a': expected at most 4 dims, got [1, 1, 1, 1, 1]");
  EXPECT_EQ(refused({"a", "Q4_K", {256}, ones({256})}),
            path_ + ": tensor 'a': expected one of F32, F16, Q8_0, BF16, got Q4_K");
  EXPECT_EQ(refused({"a", "Q8_0", {2, 33}, ones({2, 33})}),
            path_ + ": tensor 'a': expected a last dim that is a multiple of 32, got [2, 33]");
  HostTensor spoiled = HostTensor::ones({64});
  for (const float bad : {NAN, INFINITY, -9e6f}) {
    spoiled.values<float>()[40] = bad;
    EXPECT_THAT(refused({"a", "Q8_0", {64}, [&] { return spoiled; }}),
                HasSubstr("expected values of magnitudes up to 8.31901e+06 for Q8_0, got "));
  }
  const GgufTensorToSave twice[] = {{"a", "F32", {1}, ones({1})}, {"a", "F32", {1}, ones({1})}};
  EXPECT_EQ(error_of<DataError>([&] { save_gguf(path_, {}, twice); }),
            path_ + ": tensor 'a': expected names that differ, got it twice");
  EXPECT_EQ(read_file(path_), "before");
}

}  // namespace
}  // namespace axle
