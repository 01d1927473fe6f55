#include "io/gguf/gguf_value.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are kept as their bytes are in the file");

struct TypeRow {
  std::string_view name;
  size_t size;
};
constexpr TypeRow kTypes[kNumGgufTypes] = {
    {"u8", 1},   {"i8", 1},   {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"text", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

template <class T>
T element_at(const std::string& bytes, int64_t i) {
  T out;
  std::memcpy(&out, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return out;
}

// Calls fn with the C++ type of an integer type; returns false for other types.
template <class Fn>
bool with_integer_type(GgufType type, Fn&& fn) {
  switch (type) {
    case GgufType::kU8:
      fn(std::type_identity<uint8_t>{});
      return true;
    case GgufType::kI8:
      fn(std::type_identity<int8_t>{});
      return true;
    case GgufType::kU16:
      fn(std::type_identity<uint16_t>{});
      return true;
    case GgufType::kI16:
      fn(std::type_identity<int16_t>{});
      return true;
    case GgufType::kU32:
      fn(std::type_identity<uint32_t>{});
      return true;
    case GgufType::kI32:
      fn(std::type_identity<int32_t>{});
      return true;
    case GgufType::kU64:
      fn(std::type_identity<uint64_t>{});
      return true;
    case GgufType::kI64:
      fn(std::type_identity<int64_t>{});
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(GgufType type) { return kTypes[static_cast<uint32_t>(type)].name; }
size_t size_bytes(GgufType type) { return kTypes[static_cast<uint32_t>(type)].size; }

int64_t GgufValue::size() const {
  if (type_ != GgufType::kArray) return 1;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value_))
    return static_cast<int64_t>(texts->size());
  if (const auto* arrays = std::get_if<std::vector<GgufValue>>(&value_))
    return static_cast<int64_t>(arrays->size());
  return static_cast<int64_t>(bytes().size() / size_bytes(element_type_));
}

std::optional<int64_t> GgufValue::integer(int64_t i) const {
  std::optional<int64_t> out;
  with_integer_type(element_type(), [&]<class T>(std::type_identity<T>) {
    const T value = element_at<T>(bytes(), i);
    if (std::in_range<int64_t>(value)) out = static_cast<int64_t>(value);
  });
  return out;
}

std::optional<double> GgufValue::number(int64_t i) const {
  if (element_type() == GgufType::kF32) return element_at<float>(bytes(), i);
  if (element_type() == GgufType::kF64) return element_at<double>(bytes(), i);
  std::optional<double> out;
  with_integer_type(element_type(), [&]<class T>(std::type_identity<T>) {
    out = static_cast<double>(element_at<T>(bytes(), i));
  });
  return out;
}

std::string to_text(const GgufValue& value) {
  switch (value.type()) {
    case GgufType::kArray:
      return fmt::format("array of {} {}", value.size(), name_of(value.element_type()));
    case GgufType::kText:
      return fmt::format("text '{}'", printable(value.bytes()));
    case GgufType::kBool:
      return value.bytes()[0] ? "bool true" : "bool false";
    case GgufType::kU64:
      return fmt::format("u64 {}", element_at<uint64_t>(value.bytes(), 0));
    default:
      return value.integer() ? fmt::format("{} {}", name_of(value.type()), *value.integer())
                             : fmt::format("{} {:.6g}", name_of(value.type()), *value.number());
  }
}

void GgufView::fail(std::string_view expected) const {
  throw DataError(fmt::format("{}: expected {}, got {}", place_, expected, to_text(*value_)));
}

const std::string& GgufView::text() const {
  if (value_->type() != GgufType::kText) fail("a text");
  return value_->bytes();
}

bool GgufView::boolean() const {
  if (value_->type() != GgufType::kBool) fail("a bool");
  return value_->bytes()[0] != 0;
}

int64_t GgufView::integer(int64_t least, int64_t most) const {
  const auto value = is_array() ? std::nullopt : value_->integer();
  if (!value || *value < least || *value > most)
    fail(fmt::format("an integer of {} to {}", least, most));
  return *value;
}

double GgufView::number() const {
  const auto value = is_array() ? std::nullopt : value_->number();
  if (!value) fail("a number");
  return *value;
}

const std::vector<std::string>& GgufView::texts() const {
  if (!is_array() || value_->element_type() != GgufType::kText) fail("an array of texts");
  return value_->texts();
}

std::vector<int64_t> GgufView::integers(int64_t least, int64_t most) const {
  const std::string expected = fmt::format("an array of integers of {} to {}", least, most);
  if (!is_array()) fail(expected);
  std::vector<int64_t> out;
  const bool is_known =
      with_integer_type(value_->element_type(), [&](auto) { out.reserve(value_->size()); });
  if (!is_known) fail(expected);
  for (int64_t i = 0; i < value_->size(); ++i) {
    const auto value = value_->integer(i);
    if (!value || *value < least || *value > most) {
      throw DataError(fmt::format("{}[{}]: expected an integer of {} to {}, got {:.6g}", place_, i,
                                  least, most, *value_->number(i)));
    }
    out.push_back(*value);
  }
  return out;
}

std::vector<float> GgufView::numbers() const {
  const bool is_known = is_array() && (value_->element_type() == GgufType::kF32 ||
                                       value_->element_type() == GgufType::kF64 ||
                                       with_integer_type(value_->element_type(), [](auto) {}));
  if (!is_known) fail("an array of numbers");
  std::vector<float> out(static_cast<size_t>(value_->size()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(*value_->number(static_cast<int64_t>(i)));
  return out;
}

std::vector<bool> GgufView::booleans() const {
  if (!is_array() || value_->element_type() != GgufType::kBool) fail("an array of bools");
  return {value_->bytes().begin(), value_->bytes().end()};
}

std::vector<GgufView> GgufView::arrays() const {
  if (!is_array() || value_->element_type() != GgufType::kArray) fail("an array of arrays");
  std::vector<GgufView> out;
  for (const GgufValue& array : value_->arrays())
    out.emplace_back(array, fmt::format("{}[{}]", place_, out.size()));
  return out;
}

void GgufMetadata::set(const std::string& key, GgufValue value) {
  const auto [at, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new)
    entries_.push_back({key, std::move(value)});
  else
    entries_[at->second].value = std::move(value);
}

std::optional<GgufView> GgufMetadata::find(std::string_view key) const {
  const auto at = index_.find(key);
  if (at == index_.end()) return std::nullopt;
  return GgufView(entries_[at->second].value, fmt::format("{}: key '{}'", file_, printable(key)));
}

GgufView GgufMetadata::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  throw DataError(fmt::format("{}: expected the key '{}', got {} others", file_, printable(key),
                              entries_.size()));
}

}  // namespace axle
