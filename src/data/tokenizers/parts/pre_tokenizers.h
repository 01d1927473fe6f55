// Pre-tokenizers: they cut text into pieces before a model encodes each of them. Named and behaving
// as in Hugging Face's library.
#pragma once

#include <functional>
#include <memory>

#include "base/text/regex.h"
#include "base/text/text.h"
#include "data/tokenizers/parts/normalizers.h"

namespace axle {

/// Cuts the pieces into smaller ones, or changes their text.
using PreTokenizer = std::function<void(Pieces&)>;

/// What happens to the parts of a piece that match a pattern.
enum class SplitBehavior {
  kRemoved,             // they separate pieces and are dropped
  kIsolated,            // each is a piece
  kMergedWithPrevious,  // each ends the piece before it
  kMergedWithNext,      // each begins the piece behind it
  kContiguous           // neighbouring ones are one piece
};
constexpr auto texts_of(SplitBehavior) {
  return std::to_array<EnumText<SplitBehavior>>(
      {{SplitBehavior::kRemoved, "Removed"},
       {SplitBehavior::kIsolated, "Isolated"},
       {SplitBehavior::kMergedWithPrevious, "MergedWithPrevious"},
       {SplitBehavior::kMergedWithNext, "MergedWithNext"},
       {SplitBehavior::kContiguous, "Contiguous"}});
}

/// Cuts at the matches of a pattern, or at what lies between them if inverted.
PreTokenizer split_at_pattern(UnicodeRegex pattern, SplitBehavior behavior, bool inverted = false);
/// Cuts at each occurrence of the text.
PreTokenizer split_at_text(std::string text, SplitBehavior behavior, bool inverted = false);
/// Cuts at the characters for which is_delimiter(c) is true.
PreTokenizer split_at_characters(std::function<bool(char32_t)> is_delimiter,
                                 SplitBehavior behavior);

/// Cuts as GPT-2 does: words with the space before them, numbers, other characters, space.
PreTokenizer gpt2_split();
/// Puts a space before each piece that does not begin with one.
PreTokenizer add_prefix_space();
/// Writes the bytes of each piece in the alphabet of byte_level.h.
PreTokenizer map_bytes();

enum class PrependScheme { kAlways, kFirst, kNever };
constexpr auto texts_of(PrependScheme) {
  return std::to_array<EnumText<PrependScheme>>({{PrependScheme::kAlways, "always"},
                                                 {PrependScheme::kFirst, "first"},
                                                 {PrependScheme::kNever, "never"}});
}
/// Writes `replacement` for each space and, by the scheme, in front of pieces that do not begin
/// with it. Then cuts before each of them if `split` is true.
PreTokenizer metaspace(std::string replacement, PrependScheme scheme, bool split);

/// Cuts off pieces of `length` characters.
PreTokenizer fixed_length(size_t length);

// Categories of characters as the library `tokenizers` has them, of several versions of Unicode.
// Models have learned its ids.

/// True for the categories M* (marks), of Unicode 9.
bool is_mark(char32_t c);
/// True for the category Mn, of Unicode 8.
bool is_nonspacing_mark(char32_t c);
/// True for control, format and private characters but NUL, of Unicode 8.
bool is_other(char32_t c);
/// True for the categories P* (punctuation) beyond ASCII, of Unicode 8.
bool is_punctuation(char32_t c);
/// True for the categories N* (digits, letters that are numbers, other numbers), of Unicode 17.
bool is_number(char32_t c);

}  // namespace axle
