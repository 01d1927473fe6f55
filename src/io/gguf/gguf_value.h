// The metadata of GGUF files: named values, each with a type of its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tree.h"

namespace axle {

/// The types of values, numbered as in the file.
enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64
};
inline constexpr uint32_t kNumGgufTypes = 13;

/// Returns "u8", ..., "bool", "text", "array".
std::string_view name_of(GgufType type);
/// Returns the bytes of a number; 0 for texts and arrays, whose sizes vary.
size_t size_bytes(GgufType type);

namespace detail {
template <class T>
inline constexpr std::optional<GgufType> kGgufTypeOf = std::nullopt;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<uint8_t> = GgufType::kU8;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<int8_t> = GgufType::kI8;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<uint16_t> = GgufType::kU16;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<int16_t> = GgufType::kI16;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<uint32_t> = GgufType::kU32;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<int32_t> = GgufType::kI32;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<float> = GgufType::kF32;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<bool> = GgufType::kBool;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<uint64_t> = GgufType::kU64;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<int64_t> = GgufType::kI64;
template <>
inline constexpr std::optional<GgufType> kGgufTypeOf<double> = GgufType::kF64;
}  // namespace detail

/// The C++ types of GGUF's numbers and bools.
template <class T>
concept GgufNumber = detail::kGgufTypeOf<T>
.has_value();

/// A number, a bool, a text, or an array of values of one type.
class GgufValue {
 public:
  /// GgufValue(uint32_t{7}) has the type u32: the C++ type decides.
  template <GgufNumber T>
  GgufValue(T value)
      : type_(*detail::kGgufTypeOf<T>),
        value_(std::string(reinterpret_cast<const char*>(&value), sizeof(T))) {}
  GgufValue(std::string text) : type_(GgufType::kText), value_(std::move(text)) {}
  GgufValue(const char* text) : GgufValue(std::string(text)) {}
  template <GgufNumber T>
  requires(!std::same_as<T, bool>) GgufValue(const std::vector<T>& numbers)
      : GgufValue(*detail::kGgufTypeOf<T>,
                  std::string(reinterpret_cast<const char*>(numbers.data()),
                              numbers.size() * sizeof(T))) {}
  GgufValue(std::vector<std::string> texts)
      : type_(GgufType::kArray), element_type_(GgufType::kText), value_(std::move(texts)) {}
  /// An array of arrays.
  GgufValue(std::vector<GgufValue> arrays)
      : type_(GgufType::kArray), element_type_(GgufType::kArray), value_(std::move(arrays)) {}
  /// An array of numbers or bools by their bytes, little-endian.
  GgufValue(GgufType element_type, std::string bytes)
      : type_(GgufType::kArray), element_type_(element_type), value_(std::move(bytes)) {}
  /// A number or a bool by its bytes.
  static GgufValue of_bytes(GgufType type, std::string bytes) {
    GgufValue out(std::move(bytes));
    out.type_ = type;
    return out;
  }

  GgufType type() const { return type_; }
  /// The type of an array's elements; type() of other values.
  GgufType element_type() const { return type_ == GgufType::kArray ? element_type_ : type_; }
  /// The number of an array's elements; 1 for other values.
  int64_t size() const;
  /// The bytes of a text, a number or all numbers of an array, as they are in the file.
  const std::string& bytes() const { return std::get<std::string>(value_); }
  const std::vector<std::string>& texts() const {
    return std::get<std::vector<std::string>>(value_);
  }
  const std::vector<GgufValue>& arrays() const { return std::get<std::vector<GgufValue>>(value_); }
  /// Value i of a number or an array of numbers; none unless they are integers that fit.
  std::optional<int64_t> integer(int64_t i = 0) const;
  /// Value i of a number or an array of numbers; none unless they are integers or floats.
  std::optional<double> number(int64_t i = 0) const;

  bool operator==(const GgufValue&) const = default;

 private:
  GgufType type_, element_type_ = GgufType::kU8;
  std::variant<std::string, std::vector<std::string>, std::vector<GgufValue>> value_;
};

/// Shows a value in one line: "u32 7", "text 'llama'", "array of 3 f32".
std::string to_text(const GgufValue& value);

/// A value together with its location ("model.gguf: key 'llama.block_count'"). Reading it as a type
/// that it does not have throws DataError "<location>: expected ..., got ...". The metadata must
/// outlive the view.
class GgufView {
 public:
  GgufView(const GgufValue& value, std::string place) : value_(&value), place_(std::move(place)) {}

  const GgufValue& value() const { return *value_; }
  bool is_array() const { return value_->type() == GgufType::kArray; }
  const std::string& text() const;
  bool boolean() const;
  /// Returns a value of any integer type within `least` and `most`.
  int64_t integer(int64_t least, int64_t most) const;
  /// Returns a value of any float or integer type.
  double number() const;
  /// Return the elements of an array.
  const std::vector<std::string>& texts() const;
  std::vector<int64_t> integers(int64_t least, int64_t most) const;
  std::vector<float> numbers() const;
  std::vector<bool> booleans() const;
  std::vector<GgufView> arrays() const;
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  const GgufValue* value_;
  std::string place_;
};

/// Named values in the order of the file.
class GgufMetadata {
 public:
  struct Entry {
    std::string key;
    GgufValue value;
  };

  GgufMetadata() = default;
  /// `file` is for messages.
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}
  /// Appends a value, or replaces the one of this key.
  void set(const std::string& key, GgufValue value);
  bool contains(std::string_view key) const { return index_.contains(key); }
  /// Throws DataError if there is no such key.
  GgufView at(std::string_view key) const;
  std::optional<GgufView> find(std::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string file_ = "metadata";
  std::vector<Entry> entries_;
  Tree<size_t> index_;
};

}  // namespace axle
