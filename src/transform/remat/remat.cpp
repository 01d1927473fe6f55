#include "transform/remat/remat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/linearize.h"
#include "transform/partition.h"

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
            return op.rules->row().traits.is_product ? residual : Residual::kRecompute;
          },
          std::move(text)};
}

}  // namespace

RematPolicy save_nothing() {
  return {[](const OpNode&) { return Residual::kRecompute; }, "save nothing"};
}

RematPolicy save_everything() {
  return {[](const OpNode& op) {
            return op.rules->row().traits.cheap ? Residual::kRecompute : Residual::kSave;
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

namespace {

struct RematAttributes : Attributes {
  RematAttributes(RematPolicy p, bool c) : policy(std::move(p)), prevent_cse(c) {}
  RematPolicy policy;
  bool prevent_cse;
  std::string text() const override { return policy.text + (prevent_cse ? ", barrier" : ""); }
};

// The policies of the remats whose bodies this thread is differentiating, outermost first.
thread_local std::vector<const ResidualPolicy*> enclosing;

// What the remats around the current one do with a value.
Residual outer_decision(const OpNode& op) {
  Residual most = Residual::kRecompute;
  for (const ResidualPolicy* policy : enclosing) {
    const Residual own = (*policy)(op);
    if (own == Residual::kSave) return own;
    if (own == Residual::kOffload) most = own;
  }
  return most;
}

Joint joint_of(const OpNode& op, const std::vector<bool>& active, const ResidualPolicy& policy) {
  enclosing.push_back(&policy);
  struct Leave {
    ~Leave() { enclosing.pop_back(); }
  } leave;
  return make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true));
}

// Inlines the forward half, so that the policy of an enclosing remat sees the names inside it. What
// that policy keeps is not recomputed here either: the enclosing remat decides where it is kept.
Linearized linearize_remat(const OpNode& op, const Values& inputs,
                           const std::vector<bool>& active) {
  const auto& a = op.attrs<RematAttributes>();
  const ResidualPolicy& own = a.policy.decide;
  const Halves halves = split(joint_of(op, active, own), [&](const OpNode& inner) {
    return outer_decision(inner) == Residual::kRecompute ? own(inner) : Residual::kSave;
  });
  Values forward = inline_region(*halves.forward, inputs);
  const size_t num_results = halves.joint.num_results;
  std::vector<size_t> offloaded;  // indices of the offloaded values in `forward`
  for (size_t i = 0; i < halves.saved.size(); ++i) {
    if (halves.saved_as[i] != Residual::kOffload) continue;
    offloaded.push_back(num_results + i);
    forward[offloaded.back()] = place(forward[offloaded.back()], Memory::kHost);
  }
  auto pullback = [=, prevent_cse = a.prevent_cse](const Values& cotangents) {
    Values in;
    for (const size_t i : halves.needed) in.push_back(inputs[i]);
    Values kept = forward;
    for (const size_t i : offloaded) kept[i] = place(kept[i], Memory::kDevice);
    in = concatenate<Tensor>(
        {in, std::span(kept).subspan(num_results), gather_cotangents(halves.joint, cotangents)});
    // The cotangents pass through the barrier too, so that the recomputation does not start before
    // they are available.
    if (prevent_cse) in = optimization_barrier(in);
    return spread_input_cotangents(halves.joint, inline_region(*halves.backward, in));
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

const OpRules remat_rules({.name = "remat",
                           .infer = infer_body,
                           .batch = batch_flow,
                           .linearize = linearize_remat,
                           .body = kRunsBodyOnce,
                           .eval = eval_body,
                           .hlo = inline_body,
                           .cost = {body_flops, body_bytes}});

}  // namespace

Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  check_tags(policy, *closed.region);
  return emit_all(remat_rules, closed.operands(arguments),
                  std::make_shared<const RematAttributes>(policy, prevent_cse), {closed.region});
}

}  // namespace axle
