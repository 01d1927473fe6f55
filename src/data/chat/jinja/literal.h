// Literals of Python as values.
#pragma once

#include <optional>
#include <string_view>

#include "data/chat/jinja/value.h"

namespace axle::jinja {

/// Returns the value of a text, a number, True, False, None, or a list, tuple or mapping of these,
/// as Python's ast.literal_eval() reads it; none for another text.
std::optional<Value> literal_value(std::string_view text);

}  // namespace axle::jinja
