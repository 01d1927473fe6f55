#include "io/proto_writer.h"

#include <bit>

namespace axle {
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
