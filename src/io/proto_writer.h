// Writes the protobuf wire format, without generated code or a library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Writes one message, field after field. A submessage is another ProtoWriter, added with
/// message().
class ProtoWriter {
 public:
  /// Adds an int32, int64, uint32, uint64, bool or enum field.
  ProtoWriter& varint(int field, uint64_t value);
  /// Adds a double field.
  ProtoWriter& fixed64(int field, double value);
  /// Adds a float field.
  ProtoWriter& fixed32(int field, float value);
  /// Adds a repeated field of integers, packed.
  ProtoWriter& packed(int field, const std::vector<int64_t>& values);
  /// Adds a string or bytes field.
  ProtoWriter& bytes(int field, std::string_view value);
  ProtoWriter& message(int field, const ProtoWriter& value) { return bytes(field, value.text()); }
  /// Adds the fields of another message of the same type.
  ProtoWriter& append(const ProtoWriter& fields) {
    out_ += fields.out_;
    return *this;
  }
  const std::string& text() const { return out_; }

 private:
  void key(int field, int wire_type);
  void append_varint(uint64_t value);
  std::string out_;
};

}  // namespace axle
