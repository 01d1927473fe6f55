// Compares layers with numbers of another implementation (AXLearn), and maps its names to ours.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "nn/invocation.h"
#include "ops/movement/movement.h"
#include "testing/checkout.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "testing/layer_call.h"

namespace axle::testing {

/// Pairs of texts. Replacing the first by the second in a path of AXLearn, in this order, yields
/// ours.
using NameRules = std::vector<std::pair<std::string, std::string>>;

/// The parameters of blocks.
inline const NameRules kBlockNames = {{"self_attention/attention/", "attention/body/"},
                                      {"self_attention/", "attention/"},
                                      {"i_proj/i_proj/qkv_proj/", "qkv/inner/proj/"},
                                      {"o_proj/", "output/"},
                                      {"linear1_0/", "body/gate/"},
                                      {"linear1_1/", "body/up/"},
                                      {"linear1/", "body/up/"},
                                      {"linear2/", "body/down/"}};
/// Returns `first`, then `rest`.
inline NameRules joined(NameRules first, const NameRules& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}
/// The parameters of language models whose blocks are a loop.
inline const NameRules kModelNames =
    joined({{"token_emb/", ""}, {"transformer/repeat/", "layers/"}}, kBlockNames);

/// One file of testdata/reference/axlearn/numeric.
struct AxlearnFixture {
  std::string file;  // "layers/linear"
  std::function<std::unique_ptr<Layer>()> build;
  NameRules parameters = {};
  /// The fixture's input names and ours. A name that ends in "/" stands for all names below it.
  NameRules inputs = {};
  CallOptions call = {};
  /// For parameters of the fixture, by path: the location in its tree, which determines the key of
  /// the draw. A location is a list of steps, one for each level: "1" takes the second key split
  /// off at the level (own parameters come before children); "x3" takes three keys, each of which
  /// draws one entry of the leading dim. Empty: our tree has the same order.
  std::vector<std::pair<std::string, std::string>> key_paths = {};
  double tolerance = 1e-5;
};
inline void PrintTo(const AxlearnFixture& fixture, std::ostream* out) { *out << fixture.file; }

inline std::string renamed(std::string path, const NameRules& rules) {
  for (const auto& [from, to] : rules) {
    if (const size_t at = path.find(from); at != path.npos) path.replace(at, from.size(), to);
  }
  return path;
}

/// Returns the tensors called "<prefix>...", keyed by the rest of their names after applying the
/// rules.
inline Tree<HostTensor> section(const SafetensorsFile& file, const std::string& prefix,
                                const NameRules& rules) {
  Tree<HostTensor> out;
  for (const std::string& name : file.names()) {
    if (name.starts_with(prefix))
      out.emplace(renamed(name.substr(prefix.size()), rules), file.get(name));
  }
  return out;
}

namespace detail {

/// Draws `spec` with the key found by following `place` ("0.1.x3.0") from `key`.
inline Tensor draw_at(const random::Key& key, ParamSpec spec, std::string_view place) {
  if (place.empty()) return spec.initialiser().draw(key);
  const std::string_view step = place.substr(0, place.find('.'));
  const std::string_view rest =
      step.size() == place.size() ? std::string_view() : place.substr(step.size() + 1);
  KeySequence keys(key);
  if (step[0] == 'x') {
    spec.shape.erase(spec.shape.begin());
    spec.fan.batch.clear();
    Values parts;
    for (int i = std::stoi(std::string(step.substr(1))); i > 0; --i)
      parts.push_back(draw_at(keys.next(), spec, rest));
    return stack(parts);
  }
  for (int i = std::stoi(std::string(step)); i > 0; --i) keys.next();
  return draw_at(keys.next(), spec, rest);
}

inline void expect_initial_parameters(const AxlearnFixture& fixture, const Layer& layer,
                                      const SafetensorsFile& file) {
  const Tree<HostTensor> expected = section(file, "init_params/", fixture.parameters);
  Tree<HostTensor> actual =
      fixture.key_paths.empty() ? initial_parameters(layer, 0) : Tree<HostTensor>();
  for (const auto& [path, place] : fixture.key_paths) {
    const std::string ours = renamed(path, fixture.parameters);
    const ParamSpec spec = layer.param_specs().at(ours);
    actual.emplace(
        ours,
        eval([&](const Values& x) { return Values{draw_at(random::Key::wrap(x[0]), spec, place)}; },
             {random::key_words(0)})[0]);
  }
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [path, value] : expected) {
    ASSERT_TRUE(actual.contains(path)) << path;
    EXPECT_EQ(actual.at(path).type(), value.type()) << path;
    EXPECT_LE(relative_difference(actual.at(path), value), 1e-6) << "initial " << path;
  }
}

inline void expect_gradients(const AxlearnFixture& fixture, const LayerFunction& fn,
                             const SafetensorsFile& file, const std::vector<std::string>& names) {
  const HostTensor cotangent = file.get("cotangent/0");
  const Tree<HostTensor> of_parameters = section(file, "grad/params/", fixture.parameters);
  const Tree<HostTensor> of_inputs = section(file, "grad/in/", fixture.inputs);
  const std::vector<HostTensor> gradients = eval(
      [&](const Values& x) {
        const Linearized f = vjp([&](const Values& a) { return Values{fn(a)[0]}; }, x);
        Values g = f.pullback({constant(cotangent.reshaped(f.outputs[0].shape()))});
        for (size_t i = 0; i < g.size(); ++i) {
          if (!g[i]) g[i] = zeros_like(x[i]);
        }
        return g;
      },
      fn.arguments());
  // Gradients that are zero in exact arithmetic (key biases, to which softmax is invariant) are
  // pure noise, so they are compared relative to the other gradients.
  double floor = 0;
  for (const HostTensor& g : gradients) floor = std::max(floor, 0.1 * largest_element(g));
  size_t compared = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tree<HostTensor>& expected = i < fn.parameter_paths().size() ? of_parameters : of_inputs;
    const auto it = expected.find(names[i]);
    if (it == expected.end()) continue;
    ++compared;
    EXPECT_LE(largest_difference(gradients[i], it->second),
              fixture.tolerance * std::max(floor, largest_element(it->second)))
        << "gradient of " << names[i];
  }
  EXPECT_EQ(compared, of_parameters.size() + of_inputs.size());
}

}  // namespace detail

/// Compares initial parameters, result and gradients of the layer with those of the fixture.
inline void expect_parity(const AxlearnFixture& fixture) {
  const std::string path = reference_file("axlearn/numeric/" + fixture.file + ".safetensors");
  const SafetensorsFile file(path);
  const auto layer = fixture.build();
  detail::expect_initial_parameters(fixture, *layer, file);

  CallOptions call = fixture.call;
  call.state = section(file, "state/", {});
  call.seed = 2;  // fixtures use seed 0; their forward key is that of seed + 2
  Tree<HostTensor> inputs = section(file, "in/", fixture.inputs);
  // AXLearn's attention counts segments from 0, which is padding here.
  if (const auto ids = inputs.find("context/segment_ids"); ids != inputs.end()) {
    for (int32_t& id : ids->second.values<int32_t>()) ++id;
  }
  const LayerFunction fn(*layer, section(file, "params/", fixture.parameters), inputs, call);
  const HostTensor expected = file.get("out");
  const HostTensor actual =
      eval([&](const Values& x) { return Values{fn(x)[0]}; }, fn.arguments())[0];
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_LE(relative_difference(actual, expected), fixture.tolerance) << "result";

  const Tree<HostTensor> state_after = section(file, "state_after/", {});
  if (!state_after.empty()) {
    const auto got = call_layer(*layer, section(file, "params/", fixture.parameters),
                                section(file, "in/", fixture.inputs), call);
    for (const auto& [name, value] : state_after) {
      ASSERT_TRUE(got.state.contains(name)) << name;
      EXPECT_LE(relative_difference(got.state.at(name), value), fixture.tolerance) << name;
    }
  }

  std::vector<std::string> names = fn.parameter_paths();
  names.insert(names.end(), fn.input_paths().begin(), fn.input_paths().end());
  detail::expect_gradients(fixture, fn, file, names);
}

}  // namespace axle::testing
