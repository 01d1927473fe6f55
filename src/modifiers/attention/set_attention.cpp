#include "modifiers/attention/set_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "modifiers/trial_model.h"

namespace axle {

RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         const SlotFilter& wanted) {
  RewriteReport report;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (!wanted(path, slot)) return;
    for (const Slot& option : children_of(slot)) {
      if (option.name != name) continue;
      // It is only compared. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
      const bool is_set = same_values(option, {option.name, const_cast<void*>(value), option.ops});
      (is_set ? report.unchanged : report.matched).push_back(path);
      option.ops->assign(option.at, value);
    }
  });
  return report;
}

RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         std::string_view at, std::string_view where) {
  const auto by_path = [&](const std::string& path, const Slot&) { return glob_match(at, path); };
  RewriteReport report = set_option(root, name, value, by_path);
  if (report.matched.empty() && report.unchanged.empty()) {
    throw NoMatch(fmt::format(
        "{}.at: expected the path of a layer slot, got '{}', which matches none", where, at));
  }
  return report;
}

namespace {

const Child<Model>& model_of(const Slot& root) {
  if (const Child<Model>* const model = find_model(root)) return *model;
  find_slot(root, "model");
  throw ConfigError("model: expected a model, got another field");
}

// Returns the paths of the slots of the role that hold no other slot of it and match the pattern.
std::vector<std::string> innermost(ConfigRef root, const RoleInfo& role, const std::string& at) {
  std::vector<std::string> out;
  // A slot comes after those inside it.
  for_each_match(root, {.type = role.type, .derived = true},
                 [&](const std::string& path, const Slot&) {
                   const bool is_outer = !out.empty() && out.back().starts_with(path + ".");
                   if (!is_outer) out.push_back(path);
                 });
  std::erase_if(out, [&](const std::string& path) { return !glob_match(at, path); });
  return out;
}

}  // namespace

Rewrite put_where_it_fits(ConfigRef root, const AnyConfig& with, const std::string& at,
                          const std::function<std::string(const AnyConfig& old)>& refuses) {
  const RoleInfo& role = *with.type().role;
  Selector select{.type = role.type, .derived = true, .at = at};
  const ModelTrial trial(&model_of(root));
  Rewrite out{.what = fmt::format("{} -> {}", role.name, with.type().name), .report = {}};
  RewriteReport& report = out.report;
  const std::vector<std::string> paths = innermost(root, role, at);
  if (paths.empty()) fail_no_match(root, select);
  for (const std::string& path : paths) {
    const Slot slot = find_slot(root, path);
    if (const std::string why = refuses ? refuses(*held_config(slot)) : ""; !why.empty()) {
      report.skipped.push_back({path, why});
      continue;
    }
    select.where = [&](const std::string& p, const AnyConfig&) { return p == path; };
    RewriteReport done;
    const auto replace = [&] { done = replace_config(root, {.select = select, .with = with}); };
    if (const auto reasons = trial.refusals(slot, replace); !reasons.empty()) {
      report.skipped.push_back({path, join(reasons, "; ")});
      continue;
    }
    const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(report.matched, done.matched);
    append(report.unchanged, done.unchanged);
    append(report.carried, done.carried);
    append(report.dropped, done.dropped);
  }
  return out;
}

std::vector<Rewrite> SetCore::apply(ConfigRef root) const {
  return {put_where_it_fits(root, cfg_.core.any(), cfg_.at)};
}

AXLE_REGISTER(SetCore)

std::vector<Rewrite> SetCache::apply(ConfigRef root) const {
  return {put_where_it_fits(root, cfg_.cache.any(), cfg_.at, [](const AnyConfig& old) {
    return old.get_if<BorrowedKVCache::Config>() ? "borrows the keys of another layer" : "";
  })};
}

AXLE_REGISTER(SetCache)

}  // namespace axle
