#include "nn/invocation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "nn/layer.h"
#include "ops/random/random.h"

namespace axle {
namespace {
thread_local Invocation* g_invocation = nullptr;
}

Tree<Tensor> take_published(Tree<Tensor>& inputs) {
  Tree<Tensor> out = subtree(inputs, "published");
  std::erase_if(inputs, [](const auto& input) { return input.first.starts_with("published/"); });
  return out;
}

std::optional<Tensor> take_segment_ids(Tree<Tensor>& inputs,
                                       const std::vector<std::string>& names) {
  const auto found = inputs.find("segment_ids");
  if (found == inputs.end() || std::ranges::count(names, "segment_ids") > 0) return std::nullopt;
  const Tensor ids = found->second;
  inputs.erase(found);
  return ids;
}

Invocation::Invocation(std::string root, Tree<Tensor> parameters, InvocationOptions options)
    : parameters_(std::move(parameters)),
      options_(std::move(options)),
      outer_(std::exchange(g_invocation, this)) {
  frames_.push_back({.path = std::move(root),
                     .is_root = true,
                     .region = nullptr,
                     .key = options_.key,
                     .segment_ids = options_.segment_ids});
}
Invocation::~Invocation() { g_invocation = outer_; }

bool Invocation::in_call() { return g_invocation != nullptr; }

Invocation& Invocation::current() {
  if (!g_invocation)
    throw InternalError("a layer was called outside an invocation; call it inside functional()");
  return *g_invocation;
}

Invocation::Frame::Frame(const Layer& layer)
    : name_(layer.path()), call_(typeid(layer), layer.config_path()) {
  Invocation& inv = current();
  if (inv.frames_.size() == 1) forget_failed_calls();
  if (inv.options_.decoding) layer.check_decoding();
  const FrameState& caller = inv.frames_.back();
  FrameState frame{.path = layer.path(),
                   .name_hash = md5_mod_2_31_minus_1(layer.last_name()),
                   .region = inv.options_.key ? &TraceScope::current() : nullptr,
                   .segment_ids = caller.segment_ids};
  frame.is_root = inv.frames_.size() == 1 && caller.path == layer.path();
  frame.call_index = inv.calls_[layer.path()]++;
  if (frame.call_index > 0) frame.path += fmt::format("#{}", frame.call_index);
  inv.frames_.push_back(std::move(frame));
}
Invocation::Frame::~Frame() { current().frames_.pop_back(); }

const Tensor& Invocation::parameter(const std::string& path) const {
  const auto it = parameters_.find(path);
  if (it == parameters_.end())
    throw ConfigError(
        fmt::format("{}: parameter is missing among the {} given", path, parameters_.size()));
  return it->second;
}

const Tensor& Invocation::stored_state(const std::string& path) const {
  const auto it = options_.state.find(path);
  if (it == options_.state.end())
    throw ConfigError(
        fmt::format("{0}: expected its state in this call, got none; give it as state/{0}", path));
  return it->second;
}

random::Key Invocation::key() { return key_of(frames_.size() - 1); }

random::Key Invocation::key_of(size_t i) {
  if (!options_.key)
    throw ConfigError(fmt::format("{}: needs a PRNG key; give one to the call", frames_[i].path));
  if (frames_[i].key) return frames_[i].key;
  random::Key key = key_of(i - 1);
  // The body of a loop or of a device may ask first. What it computes is no value outside of it.
  const TraceScope of_call(*frames_[i].region);
  if (!frames_[i].is_root) key = random::fold_in(key, frames_[i].name_hash);
  if (frames_[i].call_index > 0)
    key = random::fold_in(key, static_cast<uint32_t>(frames_[i].call_index));
  return frames_[i].key = key;
}

void Invocation::merge(OutputCollection inner) {
  const auto merge_tree = [](Tree<Tensor>& to, Tree<Tensor>& from) {
    for (auto& [path, t] : from) {
      std::string unique = path;
      for (int n = 1; !to.try_emplace(unique, t).second; ++n)
        unique = fmt::format("{}#{}", path, n);
    }
  };
  merge_tree(collection_.summaries, inner.summaries);
  merge_tree(collection_.aux_losses, inner.aux_losses);
  merge_tree(collection_.outputs, inner.outputs);
  for (auto& [path, t] : inner.state) collection_.state.insert_or_assign(path, t);
  for (auto& [name, t] : inner.published) collection_.published.insert_or_assign(name, t);
}

const Tensor* Invocation::published(const std::string& name) const {
  for (const Tree<Tensor>* tree : {&collection_.published, &options_.published}) {
    if (const auto it = tree->find(name); it != tree->end()) return &it->second;
  }
  return nullptr;
}

InvocationOptions Invocation::nested_options() {
  InvocationOptions options = options_;
  if (options_.key) options.key = key();
  options.segment_ids = segment_ids();
  for (const auto& [path, t] : collection_.state) options.state.insert_or_assign(path, t);
  for (const auto& [name, t] : collection_.published) options.published.insert_or_assign(name, t);
  return options;
}

}  // namespace axle
