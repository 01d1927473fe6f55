// Messages of protocol buffers, read and written without a schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One field as it is on the wire. Each reading method throws DataError if the field has another
/// wire type.
struct ProtoField {
  enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  int number = 0;
  Wire wire = Wire::kVarint;
  uint64_t bits = 0;              // value of a number
  std::string_view content = {};  // value of kBytes; points into the message
  std::string_view where = {};    // name of the message, for errors

  /// Returns an int32, int64, uint32, uint64, bool or enum field.
  int64_t varint() const;
  /// Returns a string, bytes or message field.
  std::string_view bytes() const;
  /// Appends the numbers of a repeated integer field, packed or not.
  void append_to(std::vector<int64_t>& values) const;

 private:
  void expect(Wire expected) const;
};

/// Iterates over the fields of one message in the order of its bytes. The message must outlive the
/// reader and its fields.
class ProtoReader {
 public:
  /// `where` is the name of the message in errors and must outlive the reader.
  explicit ProtoReader(std::string_view message, std::string_view where = "message")
      : message_(message), where_(where) {}
  /// Returns the next field; none at the end. Throws DataError `<where>, byte <n>: ...` if the
  /// bytes are not a message.
  std::optional<ProtoField> next();

 private:
  friend struct ProtoField;
  uint64_t varint();
  std::string_view take(uint64_t size);
  [[noreturn]] void fail(std::string_view expected, std::string_view got) const;
  [[noreturn]] void fail_at_end(std::string_view expected) const;

  std::string_view message_, where_;
  size_t at_ = 0;
};

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
