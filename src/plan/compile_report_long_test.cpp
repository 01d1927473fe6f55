// The published sizes on the published machines, compiled without them: what fits and what does
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "plan/compile_report.h"
#include "recipes/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

struct Case {
  const char* recipe;
  const char* on;
  int64_t batch_size;
  bool fits;
  const char* remat = nullptr;  // of the layers; as the machine's rule says
};

bool is_of_a_layer(std::string_view name) {
  return name.starts_with("model/decoder/layers/") && name.ends_with("/weight");
}

constexpr double kOnce = 1.01;

// Each sharded parameter is gathered once in each pass. Bytes of the layers' weights in one pass.
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

// The gradient of each sharded weight is scattered once, by rows of its own or by merged ones that
// name it; what is summed besides is at most these parts between replicas.
void expect_one_scatter(const CompileReport& r, const std::map<std::string, double>& gathered) {
  std::map<std::string, double> layers;  // bytes gathered of all weights of a layer
  for (const auto& [name, bytes] : gathered) layers[name.substr(0, name.rfind('/'))] += bytes;
  std::map<std::string, double> own;  // bytes of rows that are of one layer alone
  double all = 0, scattered = 0, reduced = 0;
  for (const auto& [layer, bytes] : layers) all += bytes;
  for (const CollectiveRow& row : *r.collectives) {
    EXPECT_EQ(row.in_place_of, "") << row.kind << " of " << row.layer;
    if (!row.layer.starts_with("model/decoder/layers")) continue;
    const auto bytes = static_cast<double>(row.bytes);
    if (row.kind == "reduce-scatter") scattered += bytes;
    if (row.kind == "all-reduce" && row.backward) reduced += bytes;
    if (row.kind == "reduce-scatter" && layers.contains(row.layer)) own[row.layer] += bytes;
  }
  // A layer's own rows hold exactly its weight: one of the loop, and one where the compiler takes
  // an iteration out of it.
  for (const auto& [layer, bytes] : own)
    EXPECT_NEAR(bytes, layers.at(layer), 0.01 * layers.at(layer)) << layer;
  EXPECT_NEAR(scattered, all, 0.01 * all);
  EXPECT_LE(reduced, 0.13 * all);  // an eighth: parts of at least eight devices; and the norms
}

// The embedding and the head: one sum of each table, whole or scattered; a table that is both is
// summed once. Parts of a table are summed between replicas besides.
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

class PublishedSizes : public testing::TestWithParam<Case> {};

TEST_P(PublishedSizes, FitOrNot) {
  const Case& c = GetParam();
  const Target target = parse_target(c.on);
  AXLE_NEEDS_PLUGIN(target.accelerator.platform);
  ResolveRequest request{.recipe = c.recipe,
                         .edits = {SetField{"input.batch_size", std::to_string(c.batch_size)}},
                         .machine = target.machine()};
  if (c.remat) request.edits.push_back(SetField{"model.decoder.layers.layer.@remat", c.remat});
  const CompileReport r =
      compile_report(lower_step(resolve_config(request).config, c.recipe, target));
  std::cout << to_text(r) << std::flush;
  EXPECT_EQ(r.fits(), c.fits);
  if (!c.fits) return;
  expect_one_scatter(r, expect_one_gather_a_pass(r));
  // In bf16: 7B has one table of 32,768 rows, 70B two.
  const bool is_7b = std::string_view(c.recipe) == "fuji-7B-v2";
  expect_one_sum_of_each_table(r, 32768.0 * 2 * (is_7b ? 4096 : 2 * 8192));
}

INSTANTIATE_TEST_SUITE_P(All, PublishedSizes,
                         testing::Values(Case{"fuji-7B-v2", "tpu-v5p-512", 1024, true},
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
