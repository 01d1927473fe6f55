#include "data/chat/jinja/budget.h"

#include <fmt/format.h>

#include "base/text/units.h"

namespace axle::jinja {

void Budget::fail_steps() const {
  throw JinjaError(
      fmt::format("expected an end within {} steps, got none yet; is there a loop without end?",
                  limits_.max_steps));
}
void Budget::fail_bytes() const {
  throw JinjaError(fmt::format("expected to need at most {} for texts and lists, got more",
                               bytes_text(limits_.max_bytes)));
}
void Budget::fail_value_bytes() const {
  throw JinjaError(fmt::format("expected at most {} for a text or a list, got more",
                               bytes_text(limits_.max_value_bytes)));
}
void Budget::fail_output() const {
  throw JinjaError(
      fmt::format("expected at most {} of text, got more", bytes_text(limits_.max_output_bytes)));
}
void Budget::fail_depth() {
  throw JinjaError(fmt::format(
      "expected at most {} levels of calls and expressions, got more; is there a macro that calls "
      "itself without end?",
      kMaxDepth));
}

}  // namespace axle::jinja
