// The keys of a GGUF file that describe its model.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "io/gguf/gguf_header.h"
#include "ir/host_tensor.h"

namespace axle {

/// Reads the keys of the file's architecture, "<architecture>.<name>", and remembers which ones
/// were asked for: a key that nobody reads may change what the model computes. Reading a key that
/// is missing without a fallback, or of the wrong kind, throws DataError "<file>: key '<key>':
/// expected ...".
class GgufKeys {
 public:
  /// Returns the values of a tensor of the header.
  using ValuesOf = std::function<HostTensor(const std::string& tensor)>;
  /// Throws DataError if the header does not name the architecture. `header` must outlive the keys;
  /// `where` names the file.
  GgufKeys(const GgufHeader& header, std::string where, ValuesOf values);

  const GgufMetadata& metadata() const { return header_->metadata; }
  /// The file, for messages.
  const std::string& where() const { return where_; }
  bool has_tensor(std::string_view name) const { return header_->tensors.contains(name); }
  /// Throws DataError if there is no such tensor.
  const Shape& shape(const std::string& tensor) const;
  HostTensor values(const std::string& tensor) const { return values_(tensor); }
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

  const GgufHeader* header_;
  std::string where_;
  ValuesOf values_;
  std::string architecture_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace axle
