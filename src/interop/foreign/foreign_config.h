// The config of another program's model: the fields of a config.json, or of a GGUF file by
// the same names.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Reads fields, and remembers which ones were asked for: a field that nobody reads may change what
/// the model computes. A field that is null counts as missing. Reading a field that is missing
/// without a fallback, or of the wrong kind, throws DataError "<file>: <field>: expected ...".
class ForeignConfig {
 public:
  /// `where` names the file.
  ForeignConfig(nlohmann::ordered_json fields, std::string where);

  /// The file, for messages.
  const std::string& where() const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// True also if the field is null: "none", where a missing one has a default.
  bool mentions(std::string_view key) const { return fields_->contains(key); }
  /// Returns an integer from 1 to 2^31 - 1.
  int64_t size(std::string_view key) const;
  int64_t size(std::string_view key, int64_t fallback) const;
  std::optional<int64_t> optional_size(std::string_view key) const;
  /// As above, but `fallback` for a field that is missing, and not for one that is null.
  std::optional<int64_t> optional_size(std::string_view key, std::optional<int64_t> fallback) const;
  /// Returns a size that is a number of layers or experts, each of which has tensors of its own.
  /// Throws DataError if that is more than bound_counts() allows: before a model of them is made.
  int64_t count(std::string_view key) const;
  /// As above. The fallback has no bound.
  int64_t count(std::string_view key, int64_t fallback) const;
  /// Bounds counts by the number of tensors that there are. Without a call, nothing does.
  void bound_counts(int64_t num_tensors) const;
  /// Returns an integer from 0 to 2^31 - 1.
  int64_t whole_number(std::string_view key, int64_t fallback) const;
  /// Returns all of a list; empty if the field is missing.
  std::vector<int64_t> whole_numbers(std::string_view key) const;
  /// Returns a finite number.
  double number(std::string_view key, double fallback) const;
  std::optional<double> optional_number(std::string_view key) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  /// Returns the texts of a list; empty if the field is missing.
  std::vector<std::string> texts(std::string_view key) const;
  /// Returns the finite numbers of a list.
  std::vector<double> numbers(std::string_view key) const;
  /// Returns a token id, or all ids of a list; empty if the field holds something else.
  std::vector<int64_t> token_ids(std::string_view key) const;
  /// Returns the fields of an object; none if the field is missing.
  std::optional<ForeignConfig> group(std::string_view key) const;

  /// Returns the same with another field, of which the same fields are read.
  ForeignConfig with(const std::string& key, nlohmann::ordered_json value) const;

  /// Throws DataError unless the field is missing or has this value, the only one that Axle knows.
  void expect(std::string_view key, const nlohmann::ordered_json& value) const;
  /// Counts fields as read that do not change what the model computes.
  void ignore(const std::vector<std::string_view>& keys) const;
  /// Throws ConfigError that names all fields that nobody has read, but those in `ignored`, which
  /// the user leaves out, and those that say nothing: null, false, empty texts, lists and objects.
  void check_all_read(const std::vector<std::string>& ignored) const;
  /// Throws DataError "<file>: <field>: expected <expected>, got <the field>".
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  struct Document;
  ForeignConfig(std::shared_ptr<Document> document, const nlohmann::ordered_json& fields,
                std::string prefix);
  const nlohmann::ordered_json* find(std::string_view key) const;

  std::shared_ptr<Document> document_;
  const nlohmann::ordered_json* fields_;
  std::string prefix_;  // "rope_scaling."
};

}  // namespace axle
