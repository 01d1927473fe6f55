#include "io/proto.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"

namespace axle {
namespace {

template <class T>
uint64_t little_endian(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

void ProtoField::expect(Wire expected) const {
  if (wire == expected) return;
  throw DataError(fmt::format("{}, field {}: expected wire type {}, got {}", where, number,
                              static_cast<int>(expected), static_cast<int>(wire)));
}

int64_t ProtoField::varint() const {
  expect(Wire::kVarint);
  return static_cast<int64_t>(bits);
}

std::string_view ProtoField::bytes() const {
  expect(Wire::kBytes);
  return content;
}

void ProtoField::append_to(std::vector<int64_t>& values) const {
  if (wire == Wire::kVarint) {
    values.push_back(varint());
    return;
  }
  ProtoReader packed(bytes(), where);
  while (packed.at_ < content.size()) values.push_back(static_cast<int64_t>(packed.varint()));
}

void ProtoReader::fail(std::string_view expected, std::string_view got) const {
  throw DataError(fmt::format("{}, byte {}: expected {}, got {}", where_, at_, expected, got));
}

void ProtoReader::fail_at_end(std::string_view expected) const {
  fail(expected, fmt::format("{} of {} bytes left", message_.size() - at_, message_.size()));
}

uint64_t ProtoReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at_ < message_.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(message_[at_++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail_at_end("a varint of at most 10 bytes");
}

std::string_view ProtoReader::take(uint64_t size) {
  if (size > message_.size() - at_) fail_at_end(fmt::format("a field of {} bytes", size));
  const std::string_view out = message_.substr(at_, size);
  at_ += size;
  return out;
}

std::optional<ProtoField> ProtoReader::next() {
  if (at_ == message_.size()) return std::nullopt;
  const uint64_t key = varint();
  constexpr uint64_t kLargestNumber = (1u << 29) - 1;
  if (key >> 3 == 0 || key >> 3 > kLargestNumber)
    fail(fmt::format("a field number from 1 to {}", kLargestNumber), std::to_string(key >> 3));
  ProtoField field{.number = static_cast<int>(key >> 3),
                   .wire = static_cast<ProtoField::Wire>(key & 7),
                   .where = where_};
  switch (field.wire) {
    case ProtoField::Wire::kVarint:
      field.bits = varint();
      return field;
    case ProtoField::Wire::kFixed64:
      field.bits = little_endian<uint64_t>(take(8));
      return field;
    case ProtoField::Wire::kBytes:
      field.content = take(varint());
      return field;
    case ProtoField::Wire::kFixed32:
      field.bits = little_endian<uint32_t>(take(4));
      return field;
  }
  fail("wire type 0, 1, 2 or 5", std::to_string(key & 7));
}

namespace {

constexpr int kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

template <class T>
void append_little_endian(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

void ProtoWriter::append_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
  out_ += static_cast<char>(value);
}

void ProtoWriter::key(int field, int wire_type) {
  append_varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
}

ProtoWriter& ProtoWriter::varint(int field, uint64_t value) {
  key(field, kVarint);
  append_varint(value);
  return *this;
}

ProtoWriter& ProtoWriter::fixed64(int field, double value) {
  key(field, kFixed64);
  append_little_endian(out_, value);
  return *this;
}

ProtoWriter& ProtoWriter::fixed32(int field, float value) {
  key(field, kFixed32);
  append_little_endian(out_, value);
  return *this;
}

ProtoWriter& ProtoWriter::packed(int field, const std::vector<int64_t>& values) {
  ProtoWriter elements;
  for (const int64_t value : values) elements.append_varint(static_cast<uint64_t>(value));
  return bytes(field, elements.out_);
}

ProtoWriter& ProtoWriter::bytes(int field, std::string_view value) {
  key(field, kLengthDelimited);
  append_varint(value.size());
  out_.append(value);
  return *this;
}

}  // namespace axle
