#include "transform/remat/remat_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"

namespace axle {
namespace {

bool matches(const std::vector<TagPattern>& patterns, std::string_view tag) {
  return !tag.empty() &&
         std::ranges::any_of(patterns, [&](const TagPattern& p) { return p.matches(tag); });
}

void collect_tags(const Region& region, std::set<std::string>& tags) {
  for (const OpNode* op : region.ops()) {
    if (const std::string_view tag = tag_of(*op); !tag.empty()) tags.emplace(tag);
    for (const auto& inner : op->regions) collect_tags(*inner, tags);
  }
}

TagPattern by_name(std::string name) {
  return {name, [name](std::string_view tag) {
            return fnmatch(name.c_str(), std::string(tag).c_str(), 0) == 0;
          }};
}

TagPattern by_regex(std::string pattern) {
  return {pattern,
          [regex = Regex(pattern)](std::string_view tag) { return regex.match(tag).has_value(); }};
}

// A policy that keeps nothing says so by its name.
[[noreturn]] void fail_keeps_nothing(std::string_view policy, std::string_view expected) {
  throw ConfigError(
      fmt::format("remat policy {}: expected {}, got none; use SaveNothing (save_nothing in C++) "
                  "to recompute everything",
                  policy, expected));
}

void check_texts(std::string_view policy, const std::vector<std::string>& saved,
                 const std::vector<std::string>& offloaded) {
  if (saved.empty() && offloaded.empty())
    fail_keeps_nothing(policy, "at least one name to save or to offload");
  for (const std::vector<std::string>* list : {&saved, &offloaded}) {
    if (std::ranges::find(*list, "") != list->end())
      throw ConfigError(fmt::format("remat policy {}: expected names, got an empty one", policy));
  }
  for (const std::string& text : saved) {
    if (std::ranges::find(offloaded, text) == offloaded.end()) continue;
    throw ConfigError(
        fmt::format("remat policy {}: expected '{}' among the names to save or among "
                    "those to offload, got it in both; leave it out of one",
                    policy, text));
  }
}

RematPolicy by_tags(std::string_view policy, std::string_view verb, TagPattern (*make)(std::string),
                    const std::vector<std::string>& required,
                    const std::vector<std::string>& offloaded,
                    const std::vector<std::string>& optional = {}) {
  std::vector<std::string> saved = required;
  saved.insert(saved.end(), optional.begin(), optional.end());
  check_texts(policy, saved, offloaded);
  std::vector<TagPattern> save, offload;
  for (const std::string& text : saved) save.push_back(make(text));
  for (const std::string& text : offloaded) offload.push_back(make(text));
  RematPolicy out{
      .text = fmt::format("{} {}", verb, fmt::join(saved, ", ")),
      .patterns = {save.begin(), save.begin() + static_cast<std::ptrdiff_t>(required.size())}};
  if (!offloaded.empty()) out.text += fmt::format("; offload {}", fmt::join(offloaded, ", "));
  out.patterns.insert(out.patterns.end(), offload.begin(), offload.end());
  out.decide = [save = std::move(save), offload = std::move(offload)](const OpNode& op) {
    return matches(save, tag_of(op))      ? Residual::kSave
           : matches(offload, tag_of(op)) ? Residual::kOffload
                                          : Residual::kRecompute;
  };
  return out;
}

RematPolicy for_dots(Residual residual, std::string text) {
  return {[residual](const OpNode& op) {
            return op.rules->row().is_product ? residual : Residual::kRecompute;
          },
          std::move(text)};
}

}  // namespace

RematPolicy save_nothing() {
  return {[](const OpNode&) { return Residual::kRecompute; }, "save nothing"};
}

RematPolicy save_everything() {
  return {[](const OpNode& op) {
            return op.rules->row().cheap ? Residual::kRecompute : Residual::kSave;
          },
          "save everything"};
}

RematPolicy save_dots() { return for_dots(Residual::kSave, "save dots"); }
RematPolicy offload_dots() { return for_dots(Residual::kOffload, "offload dots"); }

RematPolicy save_names(std::vector<std::string> names, std::vector<std::string> offload,
                       std::vector<std::string> optional) {
  return by_tags("SaveNames", "save", by_name, names, offload, optional);
}

RematPolicy save_matching(std::vector<std::string> patterns, std::vector<std::string> offload) {
  return by_tags("SaveMatching", "save matching", by_regex, patterns, offload);
}

RematPolicy combine(std::vector<RematPolicy> policies) {
  if (policies.empty()) fail_keeps_nothing("CombinedPolicies", "at least one policy to combine");
  RematPolicy out;
  for (const RematPolicy& policy : policies) {
    out.text += (out.text.empty() ? "" : " + ") + policy.text;
    out.patterns.insert(out.patterns.end(), policy.patterns.begin(), policy.patterns.end());
  }
  out.decide = [policies = std::move(policies)](const OpNode& op) {
    Residual most = Residual::kRecompute;
    for (const RematPolicy& policy : policies) {
      const Residual own = policy.decide(op);
      if (own == Residual::kSave) return own;
      if (own == Residual::kOffload) most = own;
    }
    return most;
  };
  return out;
}

void check_tags(const RematPolicy& policy, const Region& region) {
  if (policy.patterns.empty()) return;
  std::set<std::string> found;
  collect_tags(region, found);
  const std::vector<std::string> tags(found.begin(), found.end());
  for (const TagPattern& pattern : policy.patterns) {
    if (std::ranges::any_of(tags, [&](const auto& tag) { return matches({pattern}, tag); }))
      continue;
    const std::string* layer = NameScope::current();
    throw ConfigError(
        fmt::format("{}: remat policy '{}' expects a value named '{}', got {}{}",
                    layer ? *layer : "program", policy.text, pattern.text,
                    tags.empty() ? "no names" : fmt::format("{}", fmt::join(tags, ", ")),
                    suggest(pattern.text, tags)));
  }
}

}  // namespace axle
