// Parses YAML text into documents, and bounds the time and memory that a hostile text can cost.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace axle {

/// Limits of every config text: its bytes, its number of values, the keys of one mapping, its depth
/// of nesting. A value with an anchor counts twice, and once more for each alias of it, each time
/// with everything inside it.
inline constexpr size_t kMaxConfigBytes = size_t{16} << 20;
inline constexpr size_t kMaxConfigValues = size_t{4} << 20;
inline constexpr size_t kMaxConfigKeys = 100'000;
inline constexpr size_t kMaxConfigDepth = 100;
/// The most entries of a section of a recipe file, and of a field that is a list or mapping. No
/// field needs so many; what reads an entry by its path looks at all of them.
inline constexpr size_t kMaxConfigEntries = 2'000;

/// Line numbers (from 1) of the keys and list elements in the outer three levels of a document. A
/// key is a path of indices: {2, 0} is the first entry of the document's third entry.
using YamlLines = std::map<std::vector<size_t>, int>;

/// Which plain words stand for null: `none` does in configs, but is a text in files of others.
enum class NullWords { kWithNone, kOfYaml };

/// Parses one document for from_json. Scalars become strings; plain `none`, `null`, `~` and empty
/// ones become null. Throws ConfigError "<source>:<line>: ..." for bad syntax, keys that repeat or
/// are not scalars, more than one document, text that is not UTF-8 or has control characters,
/// aliases inside the value that they name, and texts beyond the limits. `lines`, if given,
/// receives the line numbers.
nlohmann::ordered_json parse_yaml(std::string_view text, std::string_view source = "yaml",
                                  YamlLines* lines = nullptr,
                                  NullWords nulls = NullWords::kWithNone);
/// Returns a document as YAML text.
std::string yaml_text(const nlohmann::ordered_json& document);

}  // namespace axle
