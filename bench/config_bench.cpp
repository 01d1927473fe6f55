// Benchmarks of config trees: rewriting a large one, and making, modifying and printing that of a
// large recipe.
#include <benchmark/benchmark.h>

#include "base/error.h"
#include "config/print.h"
#include "config/walk.h"
#include "layers/blocks/stack.h"
#include "layers/norms/norm.h"
#include "recipes/resolve/resolve.h"

namespace axle {
namespace {

constexpr int64_t kModules = 1000;

int64_t count_modules(const Slot& root) {
  int64_t out = 0;
  walk(root, [&](const std::string&, const Slot& slot) {
    out += slot.ops->kind == FieldKind::kChild && held_config(slot);
  });
  return out;
}

// Returns a stack of transformer layers, each with a config of its own, that holds at least
// kModules modules.
Child<Block> large_tree() {
  const TransformerLayer::Config layer{
      .attention = PreNorm::Config{.body = Attention::Config{.num_heads = 8}},
      .feed_forward = PreNorm::Config{.body = FeedForward::Config{}}};
  Stacked::Config stack{.num_layers = 1};
  do {
    stack.layers.push_back(layer);
  } while (count_modules(Child<Block>(stack)) < kModules);
  stack.num_layers = std::ssize(stack.layers);
  return stack;
}

// Replaces every norm of the tree, by turns by one class and by another.
void replace_norms(benchmark::State& state) {
  Child<Block> tree = large_tree();
  bool is_layer_norm = false;
  size_t replaced = 0;
  for (auto _ : state) {
    replaced = is_layer_norm ? replace_config<Norm>(tree, RMSNorm::Config{}).matched.size()
                             : replace_config<Norm>(tree, LayerNorm::Config{}).matched.size();
    is_layer_norm = !is_layer_norm;
  }
  state.counters["modules"] = static_cast<double>(count_modules(tree));
  state.counters["replaced"] = static_cast<double>(replaced);
}
BENCHMARK(replace_norms)->Unit(benchmark::kMillisecond);

// Resolves a recipe with a mesh rule, a file of four changes and a flag, and prints the config.
void make_modify_print(benchmark::State& state, const std::string& recipe) {
  const RecipeFile file = parse_recipe_file(
      "replace: {RMSNorm: LayerNorm}\n"
      "modify:\n"
      "  - SetWhere: {select: Attention, set: {core.logit_cap: 50}}\n"
      "  - SetRemat: {at: '**.layer', policy: SaveDots}\n"
      "set: {seed: 1}\n",
      "bench.yaml");
  const ResolveRequest request{.recipe = recipe,
                               .files = {file},
                               .edits = {UseData{kSyntheticData}},
                               .machine = "gpu-H100-512"};
  size_t bytes = 0;
  for (auto _ : state) bytes = to_string(resolve_config(request).config).size();
  state.counters["text_kb"] = static_cast<double>(bytes) / 1024;
}
BENCHMARK_CAPTURE(make_modify_print, fuji_405B_v3, std::string("fuji-405B-v3"))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace axle
