#include "transform/remat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/concatenate.h"
#include "base/error.h"
#include "base/text/text.h"
#include "ops/annotate.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/linearize.h"
#include "transform/simplify.h"

namespace axle {
namespace {

struct RematAttributes : Attributes {
  RematAttributes(RematPolicy p, bool c) : policy(std::move(p)), prevent_cse(c) {}
  RematPolicy policy;
  bool prevent_cse;
  std::string text() const override { return policy.text + (prevent_cse ? ", barrier" : ""); }
};

bool matches(const std::vector<std::string>& patterns, std::string_view tag) {
  return !tag.empty() && std::ranges::any_of(patterns, [&](const std::string& p) {
    return fnmatch(p.c_str(), std::string(tag).c_str(), 0) == 0;
  });
}

void collect_tags(const Region& region, std::set<std::string>& tags) {
  for (const OpNode* op : region.ops()) {
    if (const std::string_view tag = tag_of(*op); !tag.empty()) tags.emplace(tag);
    for (const auto& inner : op->regions) collect_tags(*inner, tags);
  }
}

// Throws ConfigError if a name of the policy matches no tag in the region. Without this check a
// misspelled name would only cause more recomputation.
void check_names(const RematPolicy& policy, const Region& region) {
  std::set<std::string> found;
  collect_tags(region, found);
  const std::vector<std::string> tags(found.begin(), found.end());
  for (const std::string& pattern : policy.names) {
    if (std::ranges::any_of(tags, [&](const auto& tag) { return matches({pattern}, tag); }))
      continue;
    const std::string* layer = NameScope::current();
    throw ConfigError(fmt::format(
        "{}: remat policy '{}' expects a value named '{}', got {}{}", layer ? *layer : "program",
        policy.text, pattern, tags.empty() ? "no names" : fmt::format("{}", fmt::join(tags, ", ")),
        suggest(pattern, tags)));
  }
}

// Inlines the forward half, so that the policy of an enclosing remat sees the names inside it.
Linearized linearize_remat(const OpNode& op, const Values& inputs,
                           const std::vector<bool>& active) {
  const auto& a = op.attrs<RematAttributes>();
  const Halves halves = split(
      make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true)), a.policy.decide);
  Values forward = inline_region(*halves.forward, inputs);
  const size_t num_results = halves.joint.num_results;
  std::vector<size_t> offloaded;  // indices of the offloaded values in `forward`
  for (size_t i = 0; i < halves.saved.size(); ++i) {
    if (a.policy.decide(*halves.saved[i].node()) != Residual::kOffload) continue;
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
                           .batch = batch_body,
                           .linearize = linearize_remat,
                           .prune = prune_body,
                           .eval = eval_body,
                           .hlo = inline_body,
                           .cost = {body_flops, body_bytes}});

}  // namespace

RematPolicy save_nothing() {
  return {[](const OpNode&) { return Residual::kRecompute; }, "save nothing"};
}

RematPolicy save_names(std::vector<std::string> patterns, std::vector<std::string> offload) {
  std::string text = fmt::format("save {}", fmt::join(patterns, ", "));
  if (!offload.empty()) text += fmt::format("; offload {}", fmt::join(offload, ", "));
  std::vector<std::string> all = patterns;
  all.insert(all.end(), offload.begin(), offload.end());
  return {[patterns = std::move(patterns), offload = std::move(offload)](const OpNode& op) {
            return matches(patterns, tag_of(op))  ? Residual::kSave
                   : matches(offload, tag_of(op)) ? Residual::kOffload
                                                  : Residual::kRecompute;
          },
          std::move(text), std::move(all)};
}

RematPolicy save_dots() {
  return {[](const OpNode& op) {
            return op.rules->name() == "dot_general" ? Residual::kSave : Residual::kRecompute;
          },
          "save dots"};
}

Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  if (!policy.names.empty()) check_names(policy, *closed.region);
  return emit_all(remat_rules, closed.operands(arguments),
                  std::make_shared<const RematAttributes>(policy, prevent_cse), {closed.region});
}

}  // namespace axle
