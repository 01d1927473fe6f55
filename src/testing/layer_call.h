// Calling layers on host tensors, through the interpreter.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/eval.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "transform/trace.h"

namespace axle::testing {

struct CallOptions {
  std::string method = "forward";
  bool training = false;
  /// Seed of the key of the call; none: the call has no key.
  std::optional<int64_t> seed = 0;
  random::PrngImpl generator = random::PrngImpl::kThreefry2x32;
  bool decoding = false;
  /// The mesh that layers see; all is computed on one device.
  Mesh mesh = {};
  Tree<HostTensor> state = {};
  EvalOptions eval = {};
};

/// Adds the initial values of the training state of layers that `state` lacks.
inline void add_initial_state(const Layer& layer, Tree<HostTensor>& state) {
  std::vector<std::string> paths;
  const std::vector<HostTensor> values = eval(
      [&](const Values& x) {
        Values out;
        paths.clear();
        for (const auto& [path, t] : layer.initialize_state(random::Key::wrap(x[0]))) {
          paths.push_back(path);
          out.push_back(t);
        }
        return out;
      },
      {random::key_words(0)});
  for (size_t i = 0; i < paths.size(); ++i) state.emplace(paths[i], values[i]);
}

/// One method of a layer as a function of tensors: parameters, then inputs, then state, each sorted
/// by path. State that the options lack starts with its initial values.
class LayerFunction {
 public:
  LayerFunction(Layer& layer, const Tree<HostTensor>& parameters, const Tree<HostTensor>& inputs,
                CallOptions options = {})
      : layer_(layer), options_(std::move(options)) {
    if (!layer.state_specs().empty()) add_initial_state(layer, options_.state);
    for (const auto& [tree, paths] : {std::pair(&parameters, &parameter_paths_),
                                      {&inputs, &input_paths_},
                                      {&options_.state, &state_paths_}}) {
      for (const auto& [path, value] : *tree) {
        paths->push_back(path);
        arguments_.push_back(value);
      }
    }
  }
  const std::vector<HostTensor>& arguments() const { return arguments_; }
  const std::vector<std::string>& parameter_paths() const { return parameter_paths_; }
  const std::vector<std::string>& input_paths() const { return input_paths_; }
  /// Returns what the last trace collected. Only its paths may be used after the trace; its tensors
  /// are dead.
  const OutputCollection& collected() const { return collected_; }

  /// Returns the results of the method.
  Values operator()(const Values& x) const {
    auto at = x.begin();
    Tree<Tensor> parameters = take(parameter_paths_, at), inputs = take(input_paths_, at);
    InvocationOptions options{.training = options_.training, .decoding = options_.decoding};
    options.mesh = options_.mesh;
    options.state = take(state_paths_, at);
    options.published = take_published(inputs);
    options.segment_ids = take_segment_ids(inputs, inputs_of_method());
    if (options_.seed) options.key = random::random_key(*options_.seed, options_.generator);
    auto [results, collected] = functional(layer_, std::move(parameters), std::move(options), [&] {
      InputReader reader(inputs);
      for (const Method& m : layer_.methods()) {
        if (m.name != options_.method) continue;
        Values out;
        for (const auto& [name, value] : m.call(reader)) out.push_back(value);
        reader.check_all_used();
        return out;
      }
      throw ConfigError("no method " + options_.method);
    });
    collected_ = std::move(collected);
    return results;
  }

 private:
  std::vector<std::string> inputs_of_method() const {
    for (const Method& m : layer_.methods()) {
      if (m.name == options_.method) return m.inputs;
    }
    return {};
  }
  static Tree<Tensor> take(const std::vector<std::string>& paths, Values::const_iterator& at) {
    Tree<Tensor> out;
    for (const std::string& path : paths) out.emplace(path, *at++);
    return out;
  }
  Layer& layer_;
  CallOptions options_;
  std::vector<std::string> parameter_paths_, input_paths_, state_paths_;
  std::vector<HostTensor> arguments_;
  mutable OutputCollection collected_;
};

/// The outputs of a call.
struct LayerResult {
  std::vector<HostTensor> outputs;
  Tree<HostTensor> summaries, aux_losses, state;
};

inline LayerResult call_layer(Layer& layer, const Tree<HostTensor>& parameters,
                              const Tree<HostTensor>& inputs, const CallOptions& options = {}) {
  const LayerFunction fn(layer, parameters, inputs, options);
  size_t num_outputs = 0;
  std::vector<HostTensor> all = eval(
      [&](const Values& x) {
        Values out = fn(x);
        num_outputs = out.size();
        OutputCollection more = fn.collected();
        for (Tree<Tensor>* tree : {&more.summaries, &more.aux_losses, &more.state}) {
          for (const auto& [path, t] : *tree) out.push_back(t);
        }
        return out;
      },
      fn.arguments(), options.eval);
  LayerResult result;
  result.outputs.assign(all.begin(), all.begin() + static_cast<int64_t>(num_outputs));
  auto at = all.begin() + static_cast<int64_t>(num_outputs);
  const OutputCollection& more = fn.collected();
  for (const auto& [from, to] : {std::pair(&more.summaries, &result.summaries),
                                 {&more.aux_losses, &result.aux_losses},
                                 {&more.state, &result.state}}) {
    for (const auto& [path, t] : *from) to->emplace(path, *at++);
  }
  return result;
}

/// Returns the layer's initial parameters, drawn with the key of `seed`.
inline Tree<HostTensor> initial_parameters(const Layer& layer, int64_t seed) {
  std::vector<std::string> paths;
  const std::vector<HostTensor> values = eval(
      [&](const Values& x) {
        Values out;
        paths.clear();
        for (const auto& [path, t] : layer.initialize(random::Key::wrap(x[0]))) {
          paths.push_back(path);
          out.push_back(t);
        }
        return out;
      },
      {random::key_words(seed)});
  Tree<HostTensor> out;
  for (size_t i = 0; i < paths.size(); ++i) out.emplace(paths[i], values[i]);
  return out;
}

}  // namespace axle::testing
