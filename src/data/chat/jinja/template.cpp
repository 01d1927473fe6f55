#include "data/chat/jinja/template.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/utf8.h"
#include "data/chat/jinja/globals.h"
#include "data/chat/jinja/parser.h"

namespace axle::jinja {
namespace {

// Bytes of a message: templates choose their own.
constexpr size_t kMaxMessage = 400;

}  // namespace

Template::Template(std::string_view source, std::string name, const Dialect& dialect)
    : name_(std::move(name)),
      is_strict_(dialect.is_strict),
      body_(std::make_shared<const Body>(parse_template(source, name_, dialect))) {}

namespace {

bool has_generation_in(const Body& body) {
  return std::ranges::any_of(body, [](const auto& node) {
    const auto in_branch = [](const auto& branch) { return has_generation_in(branch.second); };
    return node->kind == StatementKind::kGeneration || has_generation_in(node->body) ||
           has_generation_in(node->otherwise) || std::ranges::any_of(node->branches, in_branch);
  });
}

}  // namespace

bool Template::has_generation() const { return has_generation_in(*body_); }

Rendering Template::render(const Variables& variables, const Limits& limits,
                           std::optional<int64_t> now_secs) const {
  Interpreter interpreter(limits, is_strict_);
  const auto where = [&] { return fmt::format("{}:{}: ", name_, interpreter.line()); };
  try {
    const auto globals = std::make_shared<Scope>(nullptr);
    for (auto& [key, value] : global_functions(now_secs)) globals->set(key, std::move(value));
    for (const auto& [key, value] : variables) globals->set(key, value);
    std::string text = interpreter.run(*body_, std::make_shared<Scope>(globals));
    return {std::move(text), interpreter.generations(), interpreter.has_lost_generation(),
            interpreter.rounds()};
  } catch (const Refusal& refusal) {
    throw TemplateRefusal(where() +
                          "the template refuses: " + printable(refusal.what(), kMaxMessage));
  } catch (const JinjaError& error) {
    throw DataError(where() + printable(error.what(), kMaxMessage));
  }
}

}  // namespace axle::jinja
