#include "modifiers/modifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/error.h"
#include "base/text/regex.h"
#include "config/missing.h"
#include "config/mistakes.h"
#include "config/register.h"

namespace axle {
namespace {

void at(const std::string& path, const std::function<void()>& apply) {
  try {
    apply();
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    throw ConfigError(what.starts_with(path) ? what : with_location(path, what));
  }
}

}  // namespace

std::vector<Replaced> apply_modifier(const Child<Modifier>& config, const std::string& path,
                                     ConfigRef root) {
  check_complete(config.any(), config.any().type().name);
  return config.build({}, Scope{.path = path})->apply(root);
}

AppliedRule apply_mesh_rules(const MeshRules& rules, const std::string& machine, ConfigRef root) {
  // All patterns are looked at, also those behind the one that matches.
  size_t first = rules.size();
  for (size_t i = rules.size(); i-- > 0;) {
    at(fmt::format("mesh_rules[{}].machine", i), [&] {
      if (Regex(rules[i].machine).match(machine)) first = i;
    });
  }
  if (first == rules.size()) return {};
  AppliedRule out{.machine = rules[first].machine, .replaced = {}};
  for (size_t i = 0; i < rules[first].modifiers.size(); ++i) {
    const std::string path = fmt::format("mesh_rules[{}].modifiers[{}]", first, i);
    at(path, [&] {
      std::ranges::move(apply_modifier(rules[first].modifiers[i], path, root),
                        std::back_inserter(out.replaced));
    });
  }
  return out;
}

AXLE_REGISTER(MeshRule)

}  // namespace axle
