// The keys of a GGUF file that describe its model.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "io/gguf/gguf_file.h"

namespace axle {

/// Reads the keys of the file's architecture, "<architecture>.<name>", and remembers which ones
/// were asked for: a key that nobody reads may change what the model computes. Reading a key that
/// is missing without a fallback, or of the wrong kind, throws DataError "<file>: key '<key>':
/// expected ...".
class GgufKeys {
 public:
  /// Throws DataError if the file does not name its architecture. `file` must outlive the keys.
  explicit GgufKeys(const GgufFile& file);

  const GgufFile& file() const { return *file_; }
  /// "llama".
  const std::string& architecture() const { return architecture_; }
  /// Of the key "<architecture>.<name>", as are all below.
  std::optional<GgufView> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  GgufView at(std::string_view name) const;
  /// Returns an integer from 1 to 2^31 - 1.
  int64_t size(std::string_view name) const;
  int64_t size(std::string_view name, int64_t fallback) const;
  /// Returns an integer from 0 on; none if the key is missing or 0.
  std::optional<int64_t> count(std::string_view name) const;
  /// Returns a finite number.
  double number(std::string_view name) const;
  double number(std::string_view name, double fallback) const;
  /// Throws DataError unless the key is missing or has this value, the only one that Axle knows.
  void expect(std::string_view name, double value) const;
  void expect(std::string_view name, bool value) const;
  /// Counts keys as read that do not change what the model computes.
  void ignore(const std::vector<std::string_view>& names) const;
  /// Adds the architecture's keys that nobody has read to the fields of a ForeignConfig, by their
  /// whole names: nobody reads them there either.
  void add_unread(nlohmann::ordered_json& fields) const;

 private:
  std::string key(std::string_view name) const;

  const GgufFile* file_;
  std::string architecture_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace axle
