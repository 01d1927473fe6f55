#include "modifiers/modifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

#include "base/class_call.h"
#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "config/missing.h"
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

// Returns the paths that the modifier selected and could not change, with the reasons. Paths of one
// reason are one entry; the reason of the most comes first, and after a few there is only a number.
std::vector<std::string> reasons_in(const std::vector<Rewrite>& rewrites) {
  struct Reason {
    std::string why, first_path;
    int64_t count = 0;
  };
  std::vector<Reason> reasons;
  for (const Rewrite& rewrite : rewrites) {
    for (const auto& [path, text] : rewrite.report.skipped) {
      // A reason may begin with the path, or with a field of it.
      const std::string why = text.starts_with(path) ? text.substr(path.size()) : ": " + text;
      auto at = std::ranges::find(reasons, why, &Reason::why);
      if (at == reasons.end()) at = reasons.insert(at, {why, path});
      ++at->count;
    }
  }
  std::ranges::stable_sort(reasons, std::greater(), &Reason::count);
  std::vector<std::string> out;
  int64_t rest = 0;
  constexpr size_t kMax = 3;
  for (const Reason& reason : reasons) {
    if (out.size() == kMax) {
      rest += reason.count;
      continue;
    }
    out.push_back(reason.first_path + reason.why);
    if (reason.count > 1) out.back() += fmt::format(" (and {} like it)", reason.count - 1);
  }
  if (rest > 0) out.push_back(fmt::format("and {} more", rest));
  return out;
}

bool found_any(const std::vector<Rewrite>& rewrites) {
  return std::ranges::any_of(rewrites, [](const Rewrite& rewrite) {
    return !rewrite.report.matched.empty() || !rewrite.report.unchanged.empty();
  });
}

std::vector<Rewrite> build_and_apply(const Child<Modifier>& config, const std::string& path,
                                     ConfigRef root) {
  const std::string_view name = config.any().type().name;
  const std::unique_ptr<Modifier> modifier = config.build({}, Scope{.path = path});
  const ClassCall call(*config.any().type().owner, path);
  std::vector<Rewrite> out = modifier->apply(root);
  if (config.options.allow_none || found_any(out)) return out;
  const std::vector<std::string> reasons = reasons_in(out);
  throw NoMatch(reasons.empty()
                    ? fmt::format("{}: expected something to change, got a tree without it", name)
                    : fmt::format("{}: expected at least one slot that it can change, got only {}",
                                  name, join(reasons, "; ")));
}

}  // namespace

bool may_find_none(const Scope& scope) {
  return static_cast<const ModifierOptions*>(scope.options)->allow_none;
}

std::vector<Rewrite> apply_modifier(Child<Modifier> config, const std::string& path,
                                    ConfigRef root) {
  if (!config) throw ConfigError(fmt::format("{}: expected a modifier, got none", path));
  check_complete(config.any(), config.any().type().name);
  try {
    return build_and_apply(config, path, root);
  } catch (const NoMatch& none) {
    if (config.options.allow_none)
      return {{.what = std::string(config.any().type().name), .report = {}}};
    throw ConfigError(fmt::format("{}; correct it, or set '@allow_none: true'", none.what()));
  }
}

AppliedRule apply_mesh_rules(MeshRules rules, const std::string& machine, ConfigRef root) {
  // All patterns are looked at, also those after the one that matches.
  size_t first = rules.size();
  for (size_t i = rules.size(); i-- > 0;) {
    at(fmt::format("mesh_rules[{}].machine", i), [&] {
      if (Regex(rules[i].machine).match(machine)) first = i;
    });
  }
  if (first == rules.size()) return {};
  AppliedRule out{.machine = rules[first].machine, .rewrites = {}};
  for (size_t i = 0; i < rules[first].modifiers.size(); ++i) {
    const std::string path = fmt::format("mesh_rules[{}].modifiers[{}]", first, i);
    at(path, [&] {
      std::ranges::move(apply_modifier(rules[first].modifiers[i], path, root),
                        std::back_inserter(out.rewrites));
    });
  }
  return out;
}

AXLE_REGISTER(ModifierOptions)
AXLE_REGISTER(MeshRule)

Chain::Chain(const Config& cfg, const Dims&, const Scope& scope)
    : cfg_(cfg), path_(scope.path), allow_none_(may_find_none(scope)) {
  if (cfg_.modifiers.empty())
    throw ConfigError("Chain.modifiers: expected at least one modifier, got none");
}

std::vector<Rewrite> Chain::apply(ConfigRef root) const {
  std::vector<Rewrite> out;
  for (size_t i = 0; i < cfg_.modifiers.size(); ++i) {
    Child<Modifier> modifier = cfg_.modifiers[i];
    modifier.options.allow_none |= allow_none_;
    std::ranges::move(apply_modifier(modifier, fmt::format("{}.modifiers[{}]", path_, i), root),
                      std::back_inserter(out));
  }
  return out;
}

AXLE_REGISTER(Chain)

}  // namespace axle
