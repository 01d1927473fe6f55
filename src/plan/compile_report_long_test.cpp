// The published model sizes, compiled for the published machines without having them: which fit and
// which do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plan/compile_report_text.h"
#include "recipes/resolve/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

struct Case {
  const char* recipe;
  const char* on;
  int64_t batch_size;
  bool fits;
  const char* remat = nullptr;  // remat of the layers; null: that of the machine's mesh rule
};

bool is_of_a_layer(std::string_view name) {
  return name.starts_with("model/decoder/layers/") && name.ends_with("/weight");
}

constexpr double kOnce = 1.01;

// Expects each sharded parameter to be gathered once in each pass. Returns the bytes gathered of
// each weight of the layers in one pass.
std::map<std::string, double> expect_one_gather_a_pass(const CompileReport& r) {
  std::map<std::string, double> forward, backward;
  for (const ArgumentGathers& one : r.gathers) {
    const std::string& name = r.arguments.at(static_cast<size_t>(one.argument));
    EXPECT_LE(one.times, kOnce) << name << (one.backward ? ", backward" : ", forward");
    if (!is_of_a_layer(name)) continue;
    EXPECT_GE(one.times, 1 / kOnce) << name << (one.backward ? ", backward" : ", forward");
    (one.backward ? backward : forward)[name] += one.bytes;
  }
  for (const std::string& name : r.arguments) {
    if (!is_of_a_layer(name)) continue;
    EXPECT_GT(forward[name], 0) << name;
    EXPECT_NEAR(backward[name], forward[name], 0.01 * forward[name]) << name;
  }
  return forward;
}

// Expects the gradient of each sharded weight to be scattered once, by a row of its layer or by
// merged rows that name it. All-reduces may only sum the resulting shards between replicas.
void expect_one_scatter(const CompileReport& r, const std::map<std::string, double>& gathered) {
  std::map<std::string, double> layers;  // by layer: bytes gathered of all its weights
  for (const auto& [name, bytes] : gathered) layers[name.substr(0, name.rfind('/'))] += bytes;
  std::map<std::string, double> own;  // by layer: bytes of the rows of this layer alone
  double all = 0, scattered = 0, reduced = 0;
  for (const auto& [layer, bytes] : layers) all += bytes;
  for (const CollectiveRow& row : *r.collectives) {
    // A sum that has come out of the loop over chunks of the loss stays whole.
    const bool is_of_head = row.layer.find("lm_head") != row.layer.npos && row.backward;
    EXPECT_EQ(row.implemented_kind, is_of_head ? "reduce-scatter" : "")
        << row.kind << " of " << row.layer;
    if (!row.layer.starts_with("model/decoder/layers")) continue;
    const auto bytes = static_cast<double>(row.bytes);
    if (row.kind == "reduce-scatter") scattered += bytes;
    if (row.kind == "all-reduce" && row.backward) reduced += bytes;
    if (row.kind == "reduce-scatter" && layers.contains(row.layer)) own[row.layer] += bytes;
  }
  // The rows of one layer add up to exactly its weights. There is one row of the loop, and another
  // if the compiler has peeled an iteration off the loop.
  for (const auto& [layer, bytes] : own)
    EXPECT_NEAR(bytes, layers.at(layer), 0.01 * layers.at(layer)) << layer;
  EXPECT_NEAR(scattered, all, 0.01 * all);
  // An eighth, because the shards are those of at least eight devices, plus the norms.
  EXPECT_LE(reduced, 0.13 * all);
}

// Expects one sum of the gradient of each table (the embedding and the head), whole or scattered. A
// table that is both is summed once. Shards of a table may also be summed between replicas.
void expect_one_sum_of_each_table(const CompileReport& r, double table_bytes) {
  double summed = 0;
  for (const CollectiveRow& row : *r.collectives) {
    const bool sums = row.kind == "all-reduce" || row.kind == "reduce-scatter";
    const bool of_table =
        row.layer.find("emb") != row.layer.npos || row.layer.find("lm_head") != row.layer.npos;
    if (sums && row.backward && of_table) summed += static_cast<double>(row.bytes);
  }
  EXPECT_NEAR(summed, table_bytes, 0.02 * table_bytes);
}

class PublishedSizes : public ::testing::TestWithParam<Case> {};

TEST_P(PublishedSizes, FitOrNot) {
  const Case& c = GetParam();
  const Target target = parse_target(c.on);
  AXLE_NEEDS_PLUGIN(target.accelerator.platform);
  ResolveRequest request{.recipe = c.recipe,
                         .edits = {SetField{"input.batch_size", std::to_string(c.batch_size)}},
                         .machine = target.machine()};
  // Each microbatch gathers the weights again, and smaller ones let any batch fit.
  request.edits.push_back(SetField{"learner.device_rows", "none"});
  if (c.remat) request.edits.push_back(SetField{"model.decoder.layers.layer.@remat", c.remat});
  const LoweredStep step = lower_step(resolve_config(request).config, c.recipe, target);
  const CompileReport r = compile_step(step);
  std::cout << to_text(r) << std::flush;
  EXPECT_EQ(r.fits(), c.fits);
  if (!c.fits) return;
  expect_one_scatter(r, expect_one_gather_a_pass(r));
  // In bf16: 7B has one table of 32,768 rows, 70B two. On GPUs, a loop over chunks of the loss sums
  // what the one table gets as a head by itself.
  const bool is_7b = std::string_view(c.recipe) == "fuji-7B-v2";
  const bool has_two_sums = target.accelerator.platform == "cuda" &&
                            step.forms.at("model/decoder").starts_with("the loss by ");
  const double width = is_7b ? (has_two_sums ? 2 : 1) * 4096 : 2 * 8192;
  expect_one_sum_of_each_table(r, 32768.0 * 2 * width);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedSizes,
                         ::testing::Values(Case{"fuji-7B-v2", "tpu-v5p-512", 1024, true},
                                           Case{"fuji-7B-v2", "tpu-v6e-256", 1024, true},
                                           Case{"fuji-7B-v2", "gpu-H100-256", 1024, true},
                                           Case{"fuji-7B-v2", "gpu-H100-64", 256, true},
                                           Case{"fuji-7B-v2", "gpu-H100-8", 32, true},
                                           Case{"fuji-7B-v2", "gpu-H100-8", 1024, false},
                                           Case{"fuji-7B-v2", "gpu-H100-256", 1024, false, "none"},
                                           Case{"fuji-7B-v2", "tpu-v5p-512", 1024, false, "none"},
                                           Case{"fuji-70B-v2", "tpu-v5p-1024", 1024, true},
                                           Case{"fuji-70B-v2", "gpu-H100-512", 1024, true}));

}  // namespace
}  // namespace axle
