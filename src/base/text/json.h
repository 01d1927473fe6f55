// JSON as Axle reads it: strictly, within limits, each mistake with its place.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace axle {

/// What is wrong with a text that should be JSON or with a value in it, beginning with the byte or
/// the path. Callers know the file and the kind of error that it is: json_as() below.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  /// Objects and lists within each other.
  size_t max_depth = 64;
};

/// The document, its keys in their order. Throws JsonError for text that is not JSON in UTF-8, for
/// an object that names a key twice and for what exceeds the limits; Error with kDoesNotFit where
/// the host has no room for it.
nlohmann::ordered_json read_json(std::string_view text, const JsonLimits& limits = {});

/// A value of a document and its path there ("files[2].bytes"). Reading it as what it must be
/// throws JsonError "<path>: expected ..., got ...". The document must outlive it.
class JsonView {
 public:
  explicit JsonView(const nlohmann::ordered_json& value, std::string path = {})
      : value_(&value), path_(std::move(path)) {}

  /// A field of an object.
  JsonView at(std::string_view key) const;
  /// The same, none where the object has no such field.
  std::optional<JsonView> find(std::string_view key) const;
  /// The elements of a list.
  std::vector<JsonView> elements() const;
  /// The fields of an object, in their order.
  std::vector<std::pair<std::string, JsonView>> members() const;
  const std::string& text() const;
  /// A whole number within `least` and `most`; 1.0 is none.
  int64_t integer(int64_t least, int64_t most) const;
  /// Texts of a list.
  std::vector<std::string> texts() const;

  const std::string& path() const { return path_; }
  const nlohmann::ordered_json& json() const { return *value_; }
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  const nlohmann::ordered_json* value_;
  std::string path_;
};

/// fn(), with a JsonError of it as an E that begins with `where`: a file or a config path.
template <class E, class Fn>
auto json_as(std::string_view where, Fn&& fn) {
  try {
    return fn();
  } catch (const JsonError& error) {
    throw E(std::string(where) + ": " + error.what());
  }
}

}  // namespace axle
