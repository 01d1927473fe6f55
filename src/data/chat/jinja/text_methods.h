// The methods of texts, as Python's str has them.
#pragma once

#include <string_view>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

bool is_text_method(std::string_view name);
/// True for methods of Python's str that are left out here.
bool is_unsupported_text_method(std::string_view name);
Value text_method(Machine& machine, const Value& value, std::string_view name,
                  const Arguments& arguments);

/// Returns the text with at most `most` occurrences of `old` replaced; below 0: all.
Value replaced(Machine& machine, std::string_view text, std::string_view old, std::string_view by,
               int64_t most);
/// Returns the text between spaces so that it is `width` characters long and in their middle.
std::string centered(Machine& machine, std::string_view text, int64_t width, std::string_view fill);

}  // namespace axle::jinja
