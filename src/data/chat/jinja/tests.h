// The tests of templates: {% if value is name(arguments) %}.
#pragma once

#include <string>
#include <string_view>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

using TestFunction = bool (*)(Machine&, const Value&, const Arguments&);

/// Returns nullptr if there is no test of this name.
TestFunction find_test(std::string_view name);
/// "expected a test of chat templates, got 'x'; did you mean ..."
std::string unknown_test(std::string_view name);

}  // namespace axle::jinja
