// Templates in the part of Jinja2 that chat templates are written in, as the library transformers
// sets it up: trim_blocks, lstrip_blocks, break and continue, the immutable sandbox, `tojson` as
// plain JSON, `raise_exception`, `strftime_now` and `generation` blocks. A Dialect changes the
// first two.
//
// Not there, and an error with the line: inheritance (extends, block), include, import, autoescape,
// translations, and the filters that no chat template has (pprint, random, urlize, xmlattr ...).
// Other than in Python, integers have 64 bits, and a generator is made whole at once.
//
// Source: https://jinja.palletsprojects.com/en/stable/templates/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/chat/jinja/interpreter.h"
#include "data/chat/jinja/lexer.h"
#include "data/chat/jinja/syntax.h"

namespace axle::jinja {

/// The template refuses its values: raise_exception(message).
struct TemplateRefusal : DataError {
  using DataError::DataError;
};

struct Rendering {
  std::string text;
  /// The texts of `generation` blocks.
  std::vector<Span> generations;
  /// True if such a block was in a macro or another body that becomes a value first: its offset in
  /// the text is not known.
  bool has_lost_generation = false;
  /// What rounds of loops over mappings wrote, inner loops first; not those in such bodies.
  std::vector<Round> rounds = {};
};

using Variables = std::vector<std::pair<std::string, Value>>;

class Template {
 public:
  /// `name` stands for the template in messages. Throws DataError "<name>:<line>: ..." for what is
  /// no template.
  Template(std::string_view source, std::string name, const Dialect& dialect = kChatDialect);
  /// `now_secs` is the time that strftime_now() writes, in Unix time; none: that of the clock.
  /// Throws TemplateRefusal, or DataError "<name>:<line>: ..." for a mistake, or if the limits are
  /// not enough.
  Rendering render(const Variables& variables, const Limits& limits = {},
                   std::optional<int64_t> now_secs = {}) const;
  /// True if there is a `generation` block.
  bool has_generation() const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  bool is_strict_;
  std::shared_ptr<const Body> body_;
};

/// Returns the statements of a template. `name` stands for it in messages. Throws DataError
/// "<name>:<line>: ..." for a mistake, and for parts of Jinja2 that chat templates do not use:
/// inheritance, imports, includes, translations.
Body parse_template(std::string_view source, const std::string& name,
                    const Dialect& dialect = kChatDialect);

}  // namespace axle::jinja
