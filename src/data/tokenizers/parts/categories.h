// Categories of characters as the library `tokenizers` has them, of several versions of Unicode.
// Models have learned its ids.
#pragma once

namespace axle {

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
