#include "modifiers/modifier.h"

#include <fmt/format.h>

#include <regex>

#include "base/error.h"
#include "config/register.h"

namespace axle {

std::string apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root) {
  for (const MeshRule& rule : rules) {
    try {
      if (!std::regex_match(machine, std::regex(rule.machine))) continue;
    } catch (const std::regex_error& e) {
      throw ConfigError(fmt::format("mesh_rules: expected a regular expression, got '{}' ({})",
                                    rule.machine, e.what()));
    }
    for (const Child<Modifier>& modifier : rule.modifiers) modifier.build({}, Scope{})->apply(root);
    return rule.machine;
  }
  return {};
}

AXLE_REGISTER(MeshRule)

}  // namespace axle
