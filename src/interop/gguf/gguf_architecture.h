// What an architecture of GGUF says of its keys and tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "interop/foreign/foreign_config.h"
#include "interop/gguf/gguf_tensors.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/gguf_value.h"
#include "ir/host_tensor.h"
#include "layers/attention/qkv/rope.h"

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

/// What an architecture writes: keys "<architecture>.<name>", and tensors that belong to none of
/// Hugging Face.
class GgufKeyWriter {
 public:
  explicit GgufKeyWriter(std::string architecture);

  const std::string& architecture() const { return architecture_; }
  void size(std::string_view name, int64_t value);
  void number(std::string_view name, double value);
  void text(std::string_view name, const std::string& value);
  void flags(std::string_view name, const std::vector<bool>& values);
  /// An f32 vector.
  void tensor(const std::string& name, const std::vector<double>& values);

  const GgufMetadata& metadata() const { return metadata_; }
  const Tree<HostTensor>& tensors() const { return tensors_; }

 private:
  std::string key(std::string_view name) const;

  std::string architecture_;
  GgufMetadata metadata_;
  Tree<HostTensor> tensors_;
};

// Architectures of GGUF files: how their keys and tensors map to Hugging Face's. The
// families (families/family.h) then read both alike.
//
// Source: the specification of GGUF; what its keys mean is what llama.cpp computes with them.

/// An architecture that "general.architecture" names. A constant of type GgufArchitectureRow
/// registers it.
struct GgufArchitecture {
  /// "llama".
  std::string_view name;
  /// Returns the fields of config.json, and reads all keys that bear on the model. Throws DataError
  /// for a key of a value that Axle has no layer for.
  nlohmann::ordered_json (*fields)(const GgufKeys& keys);
  /// Returns the names of all tensors that the model may have.
  std::vector<GgufName> (*names)();
  /// The families of Hugging Face that it holds (Family::model_type).
  std::vector<std::string_view> families;
  /// Writes the keys of a model with these fields of config.json. A field that has no key is left
  /// out: whoever reads the keys back finds the difference. Throws ConfigError for what llama.cpp
  /// would compute otherwise, although Axle reads it back.
  void (*write)(const ForeignConfig& config, GgufKeyWriter& keys);
};

class GgufArchitectureRow {
 public:
  explicit GgufArchitectureRow(const GgufArchitecture& architecture);
  GgufArchitectureRow(const GgufArchitectureRow&) = delete;
  GgufArchitectureRow& operator=(const GgufArchitectureRow&) = delete;
};

/// Returns the architecture of the file. Throws DataError with those that there are.
const GgufArchitecture& architecture_of(const GgufKeys& keys);
/// Returns the architecture that holds a family. Throws ConfigError with the families that there
/// are.
const GgufArchitecture& architecture_for(const ForeignConfig& config);

/// Returns what `rope_parameters` of a config.json would hold: the base, its scaling, the part of a
/// head of `head_dim` elements that is rotated, and divisors of the frequencies. Throws DataError
/// for a scaling that Axle does not know.
nlohmann::ordered_json rope_fields(const GgufKeys& keys, int64_t head_dim);
/// What llama.cpp does for an architecture beside rotating all of a head by plain, linear or YaRN
/// frequencies.
struct RopeAbilities {
  /// The tensors of divisors of the frequencies that it reads.
  std::vector<std::string> divisors = {};
  bool rotates_parts = false;
};
/// Writes the keys and tensors of a rotation of heads of `head_dim` elements. Throws ConfigError
/// for one that llama.cpp does not do.
void write_rope_keys(const RoPE::Config& rope, int64_t head_dim, const RopeAbilities& abilities,
                     GgufKeyWriter& keys);
/// Returns the tensors that rope_fields reads.
const std::set<std::string>& rope_tensors();

}  // namespace axle
