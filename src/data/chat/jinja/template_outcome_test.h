// What a template makes of variables, to be compared with Jinja2, set up as transformers does.
#pragma once

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/chat/jinja/template.h"

namespace axle::jinja {

inline constexpr int64_t kNoonOf26July2024 = 1721995200;

/// "text", "refusal" or "error", with the text or the message.
struct Outcome {
  std::string kind, text;
  std::vector<Span> generations = {};
  bool has_lost_generation = false;
};

inline Outcome outcome_of(const std::string& source, const nlohmann::ordered_json& given) {
  try {
    Variables variables;
    for (const auto& [name, value] : given.items())
      variables.emplace_back(name, Value::of_json(value));
    Rendering out = Template(source, "template").render(variables, {}, kNoonOf26July2024);
    return {"text", std::move(out.text), std::move(out.generations), out.has_lost_generation};
  } catch (const TemplateRefusal& refusal) {
    return {"refusal", refusal.what()};
  } catch (const DataError& error) {
    return {"error", error.what()};
  }
}

}  // namespace axle::jinja
