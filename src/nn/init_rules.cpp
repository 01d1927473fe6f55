#include "nn/init_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "config/register.h"
#include "config/walk.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"

namespace axle {

bool matches_path(std::string_view pattern, std::string_view path) {
  return glob_match(pattern, dotted(std::string(path)));
}

namespace {

// True if a layer starts the parameter at 0 or 1 for want of a reason to do otherwise.
bool is_neutral(const Init& init) {
  const AnyConfig& functor = init.functor();
  return functor && (functor.get_if<Zeros>() || functor.get_if<Ones>());
}

}  // namespace

Initialiser InitByName::operator()(const InitSpec& spec) const { return otherwise(spec); }

Init named_init(const std::optional<Init>& own, const std::optional<Init>& given,
                std::string_view path) {
  const InitByName* by_name = given ? given->functor().get_if<InitByName>() : nullptr;
  if (by_name && (!own || is_neutral(*own))) {
    for (const InitRule& rule : by_name->rules) {
      if (matches_path(*rule.pattern, path)) return rule.init;
    }
  }
  if (own) return *own;
  if (by_name) return by_name->otherwise;
  return given ? *given : Init(VarianceScaling{});
}

std::optional<DType> named_dtype(const std::vector<DTypeRule>& rules, std::string_view path) {
  for (const DTypeRule& rule : rules) {
    if (matches_path(*rule.pattern, path)) return FloatDType(rule.dtype);
  }
  return std::nullopt;
}

void check_rules_match(const Slot& root, std::string_view root_name,
                       const Tree<ParamSpec>& params) {
  if (params.empty()) return;
  Mistakes mistakes;
  const auto check = [&](const std::string& path, const std::string& pattern) {
    const bool is_used = std::ranges::any_of(
        params, [&](const auto& param) { return matches_path(pattern, param.first); });
    if (is_used) return;
    mistakes.attempt([&] {
      throw ConfigError(fmt::format("{}.pattern: '{}' matches no parameter", path, pattern));
    });
  };
  const auto visit = [&](const std::string& path, const Slot& slot) {
    if (slot.ops->kind != FieldKind::kStruct) return;
    if (*slot.ops->type == typeid(DTypeRule))
      check(path, *static_cast<const DTypeRule*>(slot.at)->pattern);
    if (*slot.ops->type == typeid(InitRule))
      check(path, *static_cast<const InitRule*>(slot.at)->pattern);
  };
  walk(root, visit, {}, root_name);
  mistakes.throw_any();
}

AXLE_REGISTER(InitRule)
AXLE_REGISTER(DTypeRule)
AXLE_REGISTER(InitByName)

Initialiser InitPerGroup::operator()(const InitSpec& spec) const {
  const int64_t groups = num_groups;
  if (spec.shape.empty() || spec.shape.back() % groups != 0) {
    throw ConfigError(
        fmt::format("num_groups: must divide the last dim of the parameter, got {} and shape {}",
                    groups, to_text(spec.shape)));
  }
  InitSpec group = spec;
  group.shape.back() /= groups;
  const Initialiser of_group = init(group);
  return {fmt::format("{} in {} groups", of_group.text, groups),
          [of_group, groups](const random::Key& key) {
            if (groups == 1) return of_group.draw(key);
            Values parts;
            for (const random::Key& own : random::split_each(key, groups))
              parts.push_back(of_group.draw(own));
            return concatenate(parts, -1);
          }};
}

AXLE_REGISTER(InitPerGroup)

}  // namespace axle
