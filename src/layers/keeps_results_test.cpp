// Fields that say that they keep results (Field::keeps_results): a resumed run may change them.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "config/registry.h"
#include "config/set.h"
#include "layers/attention/attention.h"
#include "layers/state_space/linear_attention.h"
#include "layers/state_space/mamba.h"
#include "testing/gradient_check.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::normal_values;

// Expects the same results and gradients from the layer with the field at `path` set.
template <class L>
void expect_kept(typename L::Config cfg, const typename L::Role::Dims& dims,
                 const Tree<HostTensor>& inputs, const std::string& path,
                 const std::string& value) {
  std::vector<HostTensor> results[2];
  for (const bool is_set : {false, true}) {
    if (is_set) set(cfg, path, value);
    auto layer = testing::build_for_test<L>(cfg, dims);
    const testing::LayerFunction fn = layer.function(inputs, {.training = true, .seed = 3});
    const EvalOptions f64{.f64 = true};
    results[is_set] = eval(fn, fn.arguments(), f64);
    std::vector<HostTensor> cotangents;
    for (const HostTensor& y : results[is_set]) cotangents.push_back(normal_values(y.shape(), 9));
    for (HostTensor& g : eval(testing::gradient_function(fn, cotangents), fn.arguments(), f64))
      results[is_set].push_back(std::move(g));
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_LT(testing::largest_difference(results[0][i], results[1][i]),
              1e-10 * std::max(1.0, testing::largest_element(results[0][i])))
        << "result " << i;
  }
}

constexpr Mixer::Dims kMixerDims{.model_dim = 8};

template <class L>
std::function<void()> of_mixer(const typename L::Config& cfg, const std::string& path,
                               const std::string& value) {
  return [=] {
    expect_kept<L>(cfg, kMixerDims, {{"x", normal_values({2, 7, 8}, 1)}}, path, value);
  };
}

std::function<void()> of_attention(const std::string& path, const std::string& value) {
  Attention::Config cfg{.num_heads = 2};
  set(cfg, "core.blocks", "{from: 1, queries: 3, keys: 4}");
  return of_mixer<Attention>(cfg, path, value);
}

// A change of each such field.
std::map<std::string, std::function<void()>> changes_by_field() {
  return {
      {"AttentionBlocks.from", of_attention("core.blocks.from", "none")},
      {"AttentionBlocks.queries", of_attention("core.blocks.queries", "5")},
      {"AttentionBlocks.keys", of_attention("core.blocks.keys", "2")},
      {"LayerOptions.remat", of_attention("core.@remat", "SaveNothing")},
      {"LayerOptions.partition", of_attention("output.@partition", "[model, data, None]")},
      {"LayerOptions.activation", of_attention("output.@activation", "[None, data, None]")},
      {"LayerOptions.stats", of_attention("core.@stats", "[Rms]")},
      {"LinearAttention.chunk_size",
       of_mixer<LinearAttention>({.num_heads = 2}, "chunk_size", "3")},
      {"Mamba1.chunk_size", of_mixer<Mamba1>({}, "chunk_size", "3")},
      {"Mamba2.chunk_size", of_mixer<Mamba2>({.head_dim = 4, .state_dim = 4}, "chunk_size", "3")},
      {"RAttention.chunk_size", of_mixer<RAttention>({.num_heads = 2}, "chunk_size", "3")},
  };
}

TEST(KeepsResults, MarkedFieldsDoNotChangeResults) {
  for (const auto& [field, change] : changes_by_field()) {
    SCOPED_TRACE(field);
    change();
  }
}

TEST(KeepsResults, MarkedFieldsAreAllTested) {
  std::set<std::string> fields, tested;
  for (const ConfigType* type : registered_configs()) {
    for (const Field& field : type->fields) {
      if (field.keeps_results) fields.insert(fmt::format("{}.{}", type->name, field.name));
    }
  }
  for (const auto& [field, change] : changes_by_field()) tested.insert(field);
  EXPECT_EQ(fields, tested);
}

}  // namespace
}  // namespace axle
