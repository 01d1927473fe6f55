#include "modifiers/modifier.h"

#include "base/error.h"
#include "base/regex.h"
#include "config/register.h"

namespace axle {

std::string apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root) {
  for (const MeshRule& rule : rules) {
    try {
      if (!Regex(rule.machine).match(machine)) continue;
    } catch (const ConfigError& error) {
      throw ConfigError(std::string("mesh_rules: ") + error.what());
    }
    for (const Child<Modifier>& modifier : rule.modifiers) modifier.build({}, Scope{})->apply(root);
    return rule.machine;
  }
  return {};
}

AXLE_REGISTER(MeshRule)

}  // namespace axle
