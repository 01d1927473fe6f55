// The reading twin of proto_wire.h: the fields of a message, without generated code or a library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One field as it lies on the wire. Each reading method throws DataError if the field has another
/// wire type.
struct ProtoField {
  enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  int number = 0;
  Wire wire = Wire::kVarint;
  uint64_t bits = 0;              // of a number
  std::string_view content = {};  // of bytes; points into the message
  std::string_view where = {};    // names the message in errors

  /// int32, int64, uint32, uint64, bool and enum fields.
  int64_t varint() const;
  /// string, bytes and message fields.
  std::string_view bytes() const;
  /// Adds the numbers of a repeated integer field, packed or one by one.
  void append_to(std::vector<int64_t>& values) const;

 private:
  void expect(Wire expected) const;
};

/// Walks over the fields of one message in the order of its bytes. The message must outlive it and
/// its fields.
class ProtoReader {
 public:
  /// `where` names the message in errors and outlives the reader.
  explicit ProtoReader(std::string_view message, std::string_view where = "message")
      : message_(message), where_(where) {}
  /// The next field, or none at the end. Throws DataError `<where>, byte <n>: ...` for bytes that
  /// are no message.
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

}  // namespace axle
