#include "data/tokenizers/chat_settings.h"

#include <nlohmann/json.hpp>

namespace axle {

std::string chat_template_in(const JsonView& tokenizer_config) {
  const auto field = tokenizer_config.find("chat_template");
  if (!field || field->json().is_null()) return {};
  if (!field->json().is_array()) return field->text();
  for (const JsonView& one : field->elements()) {
    if (one.at("name").text() == "default") return one.at("template").text();
  }
  field->fail("a template with the name 'default'");
}

}  // namespace axle
