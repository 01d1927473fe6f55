// The published sizes on the published machines, compiled without them: what fits and what does
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "inspect/compile_report.h"
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
  bool scatters = true;         // what it does not, the report names
};

bool is_of_a_layer(std::string_view name) {
  return name.starts_with("model/decoder/layers/") && name.ends_with("/weight");
}

// What sharded parameters cost at least: each gathered once in each pass, each gradient scattered
// once.
void expect_one_gather_and_one_scatter(const CompileReport& r, bool scatters) {
  constexpr double kOnce = 1.01;
  double gathered = 0, scattered = 0;
  int64_t num_gathered = 0, num_weights = 0;
  for (const ArgumentGathers& one : r.gathers) {
    const std::string& name = r.arguments.at(static_cast<size_t>(one.argument));
    EXPECT_LE(one.times, kOnce) << name << (one.backward ? ", backward" : ", forward");
    if (!is_of_a_layer(name)) continue;
    EXPECT_GE(one.times, 1 / kOnce) << name << (one.backward ? ", backward" : ", forward");
    ++num_gathered;
    if (!one.backward) gathered += one.bytes;
  }
  for (const std::string& name : r.arguments) num_weights += is_of_a_layer(name);
  EXPECT_EQ(num_gathered, 2 * num_weights);
  if (!scatters) {
    EXPECT_THAT(r.findings, testing::Contains(testing::HasSubstr("done by all-reduces")));
    return;
  }
  for (const CollectiveRow& row : *r.collectives) {
    if (!row.layer.starts_with("model/decoder/layers/")) continue;
    EXPECT_EQ(row.in_place_of, "") << row.layer;
    if (row.kind == "reduce-scatter") scattered += static_cast<double>(row.bytes);
  }
  EXPECT_NEAR(scattered, gathered, 0.01 * gathered);
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
  if (c.fits) expect_one_gather_and_one_scatter(r, c.scatters);
}

INSTANTIATE_TEST_SUITE_P(
    All, PublishedSizes,
    testing::Values(  // libtpu 0.0.51 scatters no gradient of 11,008 hidden units.
        Case{"fuji-7B-v2", "tpu-v5p-512", 1024, true, nullptr, false},
        Case{"fuji-7B-v2", "gpu-H100-256", 1024, true},
        Case{"fuji-7B-v2", "gpu-H100-64", 256, true}, Case{"fuji-7B-v2", "gpu-H100-8", 32, true},
        Case{"fuji-7B-v2", "gpu-H100-8", 1024, false},
        Case{"fuji-7B-v2", "gpu-H100-256", 1024, false, "none"},
        Case{"fuji-7B-v2", "tpu-v5p-512", 1024, false, "none"},
        Case{"fuji-70B-v2", "tpu-v5p-1024", 1024, true},
        Case{"fuji-70B-v2", "gpu-H100-512", 1024, true}));

}  // namespace
}  // namespace axle
