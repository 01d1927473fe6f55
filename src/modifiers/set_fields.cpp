#include "modifiers/set_fields.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "config/register.h"
#include "modifiers/field_texts.h"

namespace axle {

SetFields::SetFields(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {
  if (cfg_.set.empty()) {
    throw ConfigError(
        "SetFields.set: expected at least one field, got none; name it with its value");
  }
}

std::vector<Rewrite> SetFields::apply(ConfigRef root) const {
  SetTexts done = set_texts(root, cfg_.set);
  std::vector<Rewrite> out = {{"SetFields", std::move(done.fields)}};
  std::ranges::move(done.classes, std::back_inserter(out));
  return out;
}

AXLE_REGISTER(SetFields)

}  // namespace axle
