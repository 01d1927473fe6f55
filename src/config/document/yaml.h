// YAML text as documents, with what a hostile text can cost kept small.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace axle {

/// Limits of every config text. What an anchor names counts once more, and as often again as an
/// alias stands for it, each with all that is in it.
inline constexpr size_t kMaxConfigBytes = size_t{16} << 20;
inline constexpr size_t kMaxConfigValues = size_t{4} << 20;
inline constexpr size_t kMaxConfigDepth = 100;

/// Where the outer three levels of a document stand: the line (from 1) of the key or element that
/// is the i-th of the j-th ... of the document, by {j, ..., i}.
using YamlLines = std::map<std::vector<size_t>, int>;

/// One document for from_json: scalars become strings, or null where they are plain `none`, `null`,
/// `~` or empty. Throws ConfigError "<source>:<line>: ..." for bad syntax, keys that repeat or are
/// no scalars, more than one document, text that is no UTF-8 or has control characters, aliases of
/// what they stand in, and beyond the limits.
nlohmann::ordered_json parse_yaml(std::string_view text, std::string_view source = "yaml",
                                  YamlLines* lines = nullptr);
/// A document as YAML text.
std::string yaml_text(const nlohmann::ordered_json& document);

}  // namespace axle
