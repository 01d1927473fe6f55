#include "modifiers/modifier.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/regex.h"
#include "config/register.h"

namespace axle {

AppliedRule apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root) {
  for (const MeshRule& rule : rules) {
    try {
      if (!Regex(rule.machine).match(machine)) continue;
    } catch (const ConfigError& error) {
      throw ConfigError(std::string("mesh_rules: ") + error.what());
    }
    AppliedRule out{.machine = rule.machine, .replaced = {}};
    for (const Child<Modifier>& modifier : rule.modifiers)
      std::ranges::move(modifier.build({}, Scope{})->apply(root), std::back_inserter(out.replaced));
    return out;
  }
  return {};
}

AXLE_REGISTER(MeshRule)

}  // namespace axle
