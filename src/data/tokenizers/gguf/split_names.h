// How GGUF files name the patterns that cut text into pieces (key "tokenizer.ggml.pre").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

struct GgufSplit {
  /// Applied one after the other, each to the pieces of the one before.
  std::vector<std::string_view> patterns;
  /// A piece that is a token becomes that token, whatever the merges make of it.
  bool ignore_merges = false;
  /// Texts begin with the begin token unless the file says otherwise.
  bool adds_bos = false;
};

/// Returns nullptr for an unknown name.
const GgufSplit* find_gguf_split(std::string_view name);
/// Returns the name of these patterns, the first if there are several; none if there is none.
std::optional<std::string_view> gguf_split_name(const std::vector<std::string>& patterns,
                                                bool ignore_merges);
/// Returns all names, with commas between them.
std::string gguf_split_names();

}  // namespace axle
