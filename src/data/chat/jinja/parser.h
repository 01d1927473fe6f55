// Reads a whole template.
#pragma once

#include <string>
#include <string_view>

#include "data/chat/jinja/lexer.h"
#include "data/chat/jinja/syntax.h"

namespace axle::jinja {

/// Returns the statements of a template. `name` stands for it in messages. Throws DataError
/// "<name>:<line>: ..." for a mistake, and for parts of Jinja2 that chat templates do not use:
/// inheritance, imports, includes, translations.
Body parse_template(std::string_view source, const std::string& name,
                    const Dialect& dialect = kChatDialect);

}  // namespace axle::jinja
