// Normalizers: they change text before it is cut into pieces. Named and behaving as in Hugging
// Face's library.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/text/unicode.h"
#include "base/text/unicode_regex.h"

namespace axle {

/// Changes valid UTF-8 to other valid UTF-8.
using Normalizer = std::function<void(std::string&)>;

/// Applies all of them in their order. Throws DataError if the text becomes much longer: more than
/// 64 times and a megabyte.
void normalize(std::string& text, std::span<const Normalizer> normalizers);

Normalizer to_normal_form(NormalForm form);
Normalizer to_lower_case();
/// Removes white space at the ends.
Normalizer strip(bool left, bool right);
/// Removes all marks (categories M*).
Normalizer strip_accents();
Normalizer replace_text(std::string text, std::string by);
Normalizer replace_pattern(UnicodeRegex pattern, std::string by);
/// Puts a text in front, unless the text is empty.
Normalizer prepend(std::string text);

struct BertNormalizer {
  /// Removes control characters, and writes a space for each white space.
  bool clean_text = true;
  /// Puts spaces around Chinese characters.
  bool space_chinese = true;
  /// Decomposes, and removes nonspacing marks.
  bool strip_accents = true;
  bool lower_case = true;
  void operator()(std::string& text) const;
};

/// What SentencePiece does for NMT: removes control characters, and writes a space for other white
/// space.
Normalizer nmt();

}  // namespace axle
