#include "nn/method.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/op_rules.h"
#include "transform/bodies.h"
#include "transform/simplify.h"

namespace axle {

Tensor InputReader::required(const std::string& name) {
  if (const auto t = optional(name)) return *t;
  std::vector<std::string> given;
  for (const auto& [path, t] : inputs_) given.push_back("in/" + path);
  throw DataError(fmt::format("in/{}: expected this input, got {}", name,
                              given.empty() ? "none" : "only " + join(given, ", ")));
}

std::optional<Tensor> InputReader::optional(const std::string& name) {
  asked_.push_back("in/" + name);
  const auto it = inputs_.find(name);
  if (it == inputs_.end()) return std::nullopt;
  used_[name] = true;
  return it->second;
}

Tree<Tensor> InputReader::tree(const std::string& name) {
  Tree<Tensor> out;
  for (const auto& [path, t] : inputs_) {
    if (!path.starts_with(name + "/")) continue;
    out.emplace(path.substr(name.size() + 1), t);
    used_[path] = true;
  }
  return out;
}

void InputReader::check_all_used() const {
  std::vector<std::string> extra;
  for (const auto& [path, t] : inputs_) {
    if (!used_.contains(path)) extra.push_back("in/" + path);
  }
  if (!extra.empty()) {
    const std::string nearest = suggest(extra[0], asked_);
    throw ConfigError(fmt::format("{}: not an input of this method{}", join(extra, ", "),
                                  nearest.empty() ? "; remove it" : nearest));
  }
}

namespace {

// Returns the inputs that the results of the op need: a body may be handed values that it does not
// read.
Values needed_inputs(const OpNode& op) {
  const auto pruned = prune(op, std::vector<bool>(op.outputs.size(), true));
  return pruned ? selected(op.inputs, pruned->inputs) : op.inputs;
}

}  // namespace

bool depend_on(const Values& results, const Tensor& value) {
  std::set<const OpNode*> seen;
  Values waiting = results;
  while (!waiting.empty()) {
    const OpNode* const op = waiting.back().node();
    waiting.pop_back();
    if (op == value.node()) return true;
    const bool is_parameter = !op->rules;
    if (is_parameter || !seen.insert(op).second) continue;
    for (const Tensor& x : needed_inputs(*op)) waiting.push_back(x);
  }
  return false;
}

}  // namespace axle
