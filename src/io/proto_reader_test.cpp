#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/proto.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Wire = ProtoField::Wire;

std::string message() {
  ProtoWriter inner, out;
  inner.varint(1, 300);
  return out.varint(1, 0)
      .varint(2, static_cast<uint64_t>(-5))
      .fixed64(3, 1.5)
      .fixed32(4, 2.5f)
      .bytes(5, "text")
      .message(536870911, inner)
      .text();
}

TEST(ProtoReader, ReadsFieldsAsWritten) {
  const std::string bytes = message();
  ProtoReader reader(bytes);
  EXPECT_EQ(reader.next()->varint(), 0);
  EXPECT_EQ(reader.next()->varint(), -5);
  const auto f64 = *reader.next(), f32 = *reader.next();
  EXPECT_EQ(f64.wire, Wire::kFixed64);
  EXPECT_EQ(std::bit_cast<double>(f64.bits), 1.5);
  EXPECT_EQ(f32.wire, Wire::kFixed32);
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(f32.bits)), 2.5f);
  EXPECT_EQ(reader.next()->bytes(), "text");
  const auto last = *reader.next();
  EXPECT_EQ(last.number, 536870911);
  EXPECT_EQ(ProtoReader(last.bytes()).next()->varint(), 300);
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(ProtoReader, RepeatedIntegersArePackedOrSingle) {
  ProtoWriter out;
  out.bytes(1, std::string("\x01\xac\x02", 3)).varint(1, 7);
  std::vector<int64_t> values;
  ProtoReader reader(out.text());
  while (const auto field = reader.next()) field->append_to(values);
  EXPECT_EQ(values, (std::vector<int64_t>{1, 300, 7}));
}

void read_all(std::string_view bytes) {
  ProtoReader reader(bytes, "message");
  while (const auto field = reader.next()) {
    std::vector<int64_t> values;
    if (field->wire == Wire::kBytes) field->append_to(values);
  }
}

TEST(ProtoReader, EveryCutInsideAFieldIsFound) {
  ProtoWriter out;
  out.bytes(5, "abcd").fixed64(3, 1).varint(1, 1 << 20);
  const std::string bytes = out.text();
  const std::set<size_t> ends = {0, 6, 15, bytes.size()};
  for (size_t size = 0; size <= bytes.size(); ++size) {
    if (ends.contains(size)) {
      EXPECT_NO_THROW(read_all(bytes.substr(0, size))) << size;
    } else {
      EXPECT_THROW(read_all(bytes.substr(0, size)), DataError) << size;
    }
  }
}

TEST(ProtoReader, RandomBytesAreReadOrRefused) {
  uint32_t state = 1;
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(i % 24, '\0');
    for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    ++(error_of<DataError>([&] { read_all(bytes); }) == "no error" ? read : refused);
  }
  EXPECT_GT(read, 800);
  EXPECT_GT(refused, 10000);
}

TEST(ProtoReader, ErrorsNameTheByteOrField) {
  EXPECT_THAT([] { read_all(std::string("\x08\x01\x2a\x05xy", 6)); },
              ThrowsMessage<DataError>(HasSubstr(
                  "message, byte 4: expected a field of 5 bytes, got 2 of 6 bytes left")));
  EXPECT_THAT([] { read_all(std::string(12, '\xff')); },
              ThrowsMessage<DataError>(HasSubstr("expected a varint of at most 10 bytes")));
  EXPECT_THAT([] { read_all("\x0c"); },
              ThrowsMessage<DataError>(HasSubstr("expected wire type 0, 1, 2 or 5, got 4")));
  EXPECT_THAT([] { read_all(std::string("\0\0", 2)); },
              ThrowsMessage<DataError>(HasSubstr("expected a field number")));
  ProtoWriter out;
  out.varint(2, 1);
  EXPECT_THAT([&] { ProtoReader(out.text(), "module").next()->bytes(); },
              ThrowsMessage<DataError>("module, field 2: expected wire type 2, got 0"));
}

}  // namespace
}  // namespace axle
