// JSON as Axle reads it: strictly, within limits, reporting the location of each mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace axle {

/// Describes what is wrong with a JSON text or a value in it, beginning with the byte offset or the
/// path. Callers know the file and the error type, and convert it with json_as() below.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr size_t kMaxJsonBytes = size_t{256} << 20;

/// Parses the document and keeps the order of its keys. Throws JsonError for text that is not JSON
/// in UTF-8 (with its format, if that is known by its beginning), an object with a repeated key, a
/// text of more than `max_bytes`, or more than 64 nested objects and lists. Throws Error with
/// kDoesNotFit if the host lacks the memory.
nlohmann::ordered_json read_json(std::string_view text, size_t max_bytes = kMaxJsonBytes);

/// Returns the text with `value_of(word)` in place of each of Python's bare words for numbers that
/// are not finite: NaN, Infinity, -Infinity. JSON has no such numbers, but Python writes them.
std::string replace_python_numbers(std::string_view text,
                                   const std::function<std::string(std::string_view)>& value_of);
/// Like read_json(), for records of data sets: Python's words for numbers that are not finite are
/// read as null.
nlohmann::ordered_json read_record_json(std::string_view text);

/// A value in a document together with its path ("files[2].bytes"). Reading it as the wrong type
/// throws JsonError "<path>: expected ..., got ...". The document must outlive the view.
class JsonView {
 public:
  explicit JsonView(const nlohmann::ordered_json& value, std::string path = {})
      : value_(&value), path_(std::move(path)) {}

  /// Returns a field of an object.
  JsonView at(std::string_view key) const;
  /// Returns a field of an object; none if the object lacks it.
  std::optional<JsonView> find(std::string_view key) const;
  /// Returns the elements of a list.
  std::vector<JsonView> elements() const;
  /// Returns the fields of an object, in their order.
  std::vector<std::pair<std::string, JsonView>> members() const;
  const std::string& text() const;
  /// Returns an integer within `least` and `most`. 1.0 does not count as an integer.
  int64_t integer(int64_t least, int64_t most) const;
  /// Returns the strings of a list.
  std::vector<std::string> texts() const;

  const std::string& path() const { return path_; }
  const nlohmann::ordered_json& json() const { return *value_; }
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  const nlohmann::ordered_json* value_;
  std::string path_;
};

/// Calls fn(). Rethrows a JsonError as an E whose message begins with `where`, a file or a config
/// path.
template <class E, class Fn>
auto json_as(std::string_view where, Fn&& fn) {
  try {
    return fn();
  } catch (const JsonError& error) {
    throw E(std::string(where) + ": " + error.what());
  }
}

}  // namespace axle
