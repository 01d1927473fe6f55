// Small recipes compiled for absent TPUs and GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/text.h"
#include "guard/plugin_end_guard.h"
#include "nn/remat_policies.h"
#include "plan/compile_report_text.h"
#include "recipes/resolve/resolve.h"
#include "testing/error_of.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

CompileReport report(const std::string& on, std::vector<Edit> edits = {}) {
  const Target target = parse_target(on);
  edits.insert(edits.begin(), SetField{"mesh", "data=-1,fsdp=2"});
  const Resolved resolved = resolve_config(
      {.recipe = "fuji-test-v1", .edits = std::move(edits), .machine = target.machine()});
  return compile_step(lower_step(resolved.config, "fuji-test-v1", target));
}

// "model/{., a/b, c}" -> model, model/a/b, model/c.
std::set<std::string> layers_in(const std::string& text) {
  const size_t brace = text.find('{');
  if (brace == std::string::npos) return {text};
  std::set<std::string> out;
  const std::string common = text.substr(0, brace),
                    list = text.substr(brace + 1, text.size() - brace - 2);
  for (const std::string_view rest : split(list, ',')) {
    const std::string name(trim(rest));
    out.insert(name == "." ? common.substr(0, common.size() - 1) : common + name);
  }
  return out;
}

// Expects every layer with a parameter to be named in a row that sends gradients, itself or by a
// part of it: a dense layer's product computes the gradient of the layer's weight.
void expect_all_layers_named(const CompileReport& r) {
  std::set<std::string> named;
  for (const CollectiveRow& row : r.collectives.value()) {
    if (!row.backward || row.kind == "all-gather") continue;
    named.merge(layers_in(row.layer));
  }
  for (const std::string& name : r.arguments) {
    if (!name.starts_with("model/")) continue;
    const std::string owner = name.substr(0, name.rfind('/'));
    EXPECT_TRUE(named.contains(owner) || named.contains(owner + "/product")) << name << " in\n"
                                                                             << to_text(r);
  }
}

// Expects the roofline to agree with the program's work and the rates of the accelerator.
void expect_sound_estimate(const CompileReport& r, const Accelerator& on) {
  ASSERT_TRUE(r.work && r.estimate);
  const StepEstimate& e = *r.estimate;
  EXPECT_GT(r.work->product_flops, 0);
  EXPECT_GE(e.compute_seconds, 0.999 * r.work->product_flops / on.peak_bf16_flops);
  EXPECT_GE(e.memory_seconds, r.work->memory_bytes / on.memory_bandwidth * 0.999);
  EXPECT_GE(e.seconds * 1.0001,
            std::max({e.compute_seconds, e.memory_seconds, e.fast_network_seconds,
                      e.slow_network_seconds, e.waiting_seconds}));
  EXPECT_LE(e.seconds, 1.0001 * (e.compute_seconds + e.memory_seconds + e.fast_network_seconds +
                                 e.slow_network_seconds));
  const std::map<std::string, double> parts = {{"compute", e.compute_seconds},
                                               {"memory", e.memory_seconds},
                                               {"network (fast)", e.fast_network_seconds},
                                               {"network (slow)", e.slow_network_seconds}};
  ASSERT_TRUE(parts.contains(e.bound)) << e.bound;
  if (!e.bound.starts_with("network")) {
    EXPECT_EQ(parts.at(e.bound), std::max(e.compute_seconds, e.memory_seconds));
  } else {
    EXPECT_EQ(parts.at(e.bound), std::max(e.fast_network_seconds, e.slow_network_seconds));
  }
  EXPECT_NEAR(e.tokens_per_second * e.seconds, r.size.tokens, 1e-6 * r.size.tokens);
  EXPECT_NEAR(e.mfu * e.seconds * on.peak_bf16_flops * static_cast<double>(r.num_devices),
              r.size.model_flops, 1e-6 * r.size.model_flops);
  EXPECT_GT(e.mfu, 0);
  EXPECT_LE(e.mfu, 1);
  // Every device computes at least its share of the model's FLOPs, except for the embedding lookup.
  EXPECT_GE(r.work->product_flops * static_cast<double>(r.num_devices), 0.9 * r.size.model_flops);
}

void expect_sound_sums(const CompileReport& r) {
  std::map<std::string, std::pair<int64_t, int64_t>> rows, sums;
  for (const CollectiveRow& row : *r.collectives) {
    auto& sum =
        rows[row.implemented_kind.empty() ? row.kind
                                          : row.kind + " (for " + row.implemented_kind + ")"];
    sum.first += row.count;
    sum.second += row.bytes;
  }
  const auto json = to_json(r);
  for (const auto& [kind, sum] : json.at("collective_sums").items())
    sums[kind] = {sum.at("count"), static_cast<int64_t>(sum.at("bytes").get<double>())};
  EXPECT_EQ(sums, rows);
}

// Expects the largest temporaries to be most of all temporaries, but not more.
void expect_sound_temporaries(const CompileReport& r) {
  int64_t sum = 0;
  ASSERT_FALSE(r.largest.empty());
  for (const TemporaryBuffer& one : r.largest) {
    EXPECT_GT(one.bytes, 0);
    sum += one.bytes;
  }
  EXPECT_LE(sum, r.memory->temporary_bytes);
  EXPECT_GE(sum, r.memory->temporary_bytes / 2);
}

// Makes the recipe so large that its weights do not stay on the chip and that padding is small.
std::vector<Edit> larger() {
  return {SetField{"model.decoder.model_dim", "128"},
          SetField{"model.decoder.layers.num_layers", "2"}, SetField{"input.batch_size", "2048"}};
}

void expect_sound(const CompileReport& r) {
  EXPECT_EQ(r.fits(), true);
  expect_all_layers_named(r);
  expect_sound_estimate(r, parse_target(r.target).accelerator);
  expect_sound_sums(r);
  expect_sound_temporaries(r);
  EXPECT_GT(r.memory->temporary_bytes, 0);
  EXPECT_GT(r.device_memory_bytes, r.memory->total_bytes());
  bool gathers_a_parameter = false;
  for (const CollectiveRow& row : r.collectives.value()) {
    EXPECT_GT(row.count, 0);
    EXPECT_GT(row.bytes, 0) << row.kind;
    for (const int64_t i : row.arguments)
      gathers_a_parameter |= i >= 0 && r.arguments.at(static_cast<size_t>(i)).ends_with("weight");
  }
  EXPECT_TRUE(gathers_a_parameter);
}

TEST(WeeklyCompileReport, DescribesTpus) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5e:2x4", larger());
  expect_sound(r);
  EXPECT_EQ(r.machine, "tpu-v5litepod-8");
  EXPECT_GT(r.compiler_cost.at("flops"), 0);
  EXPECT_EQ(r.memory->host_bytes, 0);
}

TEST(CompileReport, CountsHostMemoryOfTpusThatOffload) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report(
      "tpu:v5e:2x4",
      {SetField{"model.decoder.layers.layer.@remat", "{class: SaveNames, offload: [\"*_proj\"]}"}});
  // Per layer and device, 4 rows of 64 positions: queries of 8 channels, keys and values of 4 each.
  EXPECT_GE(r.memory->host_bytes, 4 * 4 * 64 * (8 + 4 + 4) * 2);
}

// The compiler says how much is too much, and what takes it is estimated.
TEST(CompileReport, ATpusRefusalNamesTheLargestValues) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r =
      report("tpu:v5e:2x4", {SetField{"mesh", "fsdp=8"}, SetField{"input.batch_size", "4194304"}});
  EXPECT_EQ(r.fits(), false);
  EXPECT_EQ(exit_code_of(r), ExitCode::kDoesNotFit);
  ASSERT_FALSE(r.largest.empty());
  EXPECT_THAT(r.largest[0].layer, HasSubstr("decoder/layers"));
  EXPECT_GT(r.largest[0].bytes, int64_t{1} << 30);
  EXPECT_THAT(to_text(r), HasSubstr("\nlargest values, estimated "));
}

TEST(CompileReport, DescribesGpus) {
  AXLE_NEEDS_PLUGIN("cuda");
  const CompileReport r = report("gpu:h100:1x8", larger());
  expect_sound(r);
  EXPECT_EQ(r.machine, "gpu-H100-8");
}

TEST(CompileReport, NamesTheLayersOfMergedCollectives) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5p:2x2x2", {SetField{"mesh", "data=2,fsdp=4"}});
  expect_all_layers_named(r);
  bool merged = false;
  for (const CollectiveRow& row : *r.collectives)
    merged |=
        row.backward && row.layer.find("norm") != std::string::npos && row.layer.ends_with("}");
  EXPECT_TRUE(merged) << to_text(r);
}

// Collective-permutes that pass shards of weights around all devices count as gathers.
TEST(CompileReport, NamesGathersThatArePermutes) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5e:2x4", {SetField{"mesh", "fsdp=8"}});
  EXPECT_THAT(to_texts(r.findings),
              ::testing::Contains(HasSubstr("collective-permutes pass parameters")));
  std::set<std::pair<std::string, bool>> gathered;
  for (const ArgumentGathers& one : r.gathers) {
    EXPECT_GE(one.times, 1);
    EXPECT_LE(one.times, 2);
    gathered.emplace(r.arguments.at(static_cast<size_t>(one.argument)), one.backward);
  }
  for (const char* layer : {"attention/body/output", "feed_forward/body/up"}) {
    for (const bool backward : {false, true}) {
      EXPECT_TRUE(gathered.contains(
          {std::string("model/decoder/layers/layer/") + layer + "/weight", backward}))
          << layer;
    }
  }
}

// Work that devices duplicate is counted: with a batch of 4, sharded over fsdp only, each of the 8
// devices does twice the work that it does with a batch of 8, sharded over expert and fsdp.
TEST(CompileReport, DuplicatedWorkIsSeen) {
  AXLE_NEEDS_PLUGIN("tpu");
  const auto report_of = [](const char* rows, const char* partition) {
    return report(
        "tpu:v5e:2x4",
        {SetField{"mesh", "expert=2,fsdp=4"}, SetField{"input.batch_size", rows},
         SetField{"batch_partition", partition}, SetField{"model.decoder.model_dim", "128"},
         SetField{"model.decoder.layers.num_layers", "2"}});
  };
  const CompileReport all = report_of("8", "[[expert, fsdp]]"), twice = report_of("4", "[fsdp]");
  EXPECT_NEAR(twice.work->product_flops, 2 * all.work->product_flops,
              0.01 * all.work->product_flops);
  EXPECT_LT(twice.cost.flops, 0.6 * all.cost.flops) << "what the graph asks for is half";
}

TEST(CompileReport, MemoryWarningOfTheCompilerIsReported) {
  AXLE_NEEDS_PLUGIN("cuda");
  install_plugin_end_guard();  // it takes what the compiler writes
  const CompileReport r = report(
      "gpu:h100:1x8", {SetField{"mesh", "fsdp=8"}, SetField{"input.batch_size", "16777216"}});
  EXPECT_EQ(r.fits(), false);
  EXPECT_THAT(r.compiler_warnings, ::testing::Contains(HasSubstr("Can't reduce memory use below")));
  EXPECT_THAT(to_text(r), HasSubstr("\ncompiler: Can't reduce memory use below"));
}

TEST(CompileReport, CoversSlicesOnASlowNetwork) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5e:2x2:2", {SetField{"mesh", "data=2x2,fsdp=2"}});
  EXPECT_EQ(r.num_devices, 8);
  EXPECT_EQ(r.mesh, "data=2x2,fsdp=2");
  EXPECT_EQ(r.fits(), true);
}

TEST(CompileReport, OptionsThatTheCompilerDoesNotKnowAreNamed) {
  AXLE_NEEDS_PLUGIN("tpu");
  EXPECT_THAT(error_of<ConfigError>([] {
                report("tpu:v5e:2x4", {SetField{"compiler_options.xla_no_such_option", "true"}});
              }),
              HasSubstr("xla_no_such_option"));
}

}  // namespace
}  // namespace axle
