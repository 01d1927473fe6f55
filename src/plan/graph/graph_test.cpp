// What `axle graph` reports of a training step.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/compile_report.h"
#include "plan/graph/drawing.h"
#include "plan/graph/layer_program.h"
#include "plan/graph/layer_table.h"
#include "plan/graph/op_counts.h"
#include "plan/graph/saved_values.h"
#include "plan/graph/walk_ops.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// The step of a model of 4 layers in a loop: 32 sequences of 64 tokens, model dim 8.
Program step(const std::vector<Edit>& edits = {}) {
  const Resolved resolved =
      resolve_config({.recipe = "fuji-test-v1", .edits = edits, .machine = "cpu-1"});
  return lower_step(resolved.config, "fuji-test-v1", parse_target("cpu:1")).program;
}
const Edit kSaveNothing = SetField{"model.decoder.layers.layer.@remat", "{class: SaveNothing}"};

const LayerRow& row_of(const LayerTable& table, const std::string& end) {
  for (const LayerRow& row : table.rows) {
    if (row.path.ends_with(end)) return row;
  }
  throw std::runtime_error("no row " + end);
}

TEST(Graph, CostsOfLayersAddUpToThatOfTheStep) {
  const Program program = step();
  const GraphCost whole = graph_cost(*program.graph);
  const LayerTable table = layer_table(program, "", {});
  const LayerRow& all = table.rows.front();
  EXPECT_EQ(all.path, "");
  EXPECT_NEAR(all.flops[0] + all.flops[1] + all.flops[2], whole.flops, 1e-9 * whole.flops);
  EXPECT_NEAR(all.bytes, whole.bytes, 1e-9 * whole.bytes);
  // Products alone: backward makes two of each, and the embedding is one more.
  const LayerRow& layer = row_of(table, "decoder/layers/layer");
  EXPECT_GT(layer.flops[1], 1.5 * layer.flops[0]);
  EXPECT_LT(layer.flops[1], 3 * layer.flops[0]);
  EXPECT_EQ(layer.flops[2], 0);
  EXPECT_GT(all.flops[2], 0);  // the optimizer
  EXPECT_GT(layer.saved_bytes, 0);
  EXPECT_EQ(all.num_parameters, row_of(table, "decoder").num_parameters);
  EXPECT_GT(layer.num_parameters, 0);
  EXPECT_LT(layer.num_parameters, all.num_parameters);
}

TEST(Graph, RowsGoDownToADepthAndStartAtALayer) {
  const Program program = step();
  const std::string decoder = find_layer(*program.graph, "model.decoder");
  const LayerTable table = layer_table(program, decoder, 1);
  ASSERT_GT(table.rows.size(), 2u);
  EXPECT_EQ(table.rows.front().path, decoder);
  for (const LayerRow& row : table.rows) {
    EXPECT_LE(std::ranges::count(row.path, '/'), std::ranges::count(decoder, '/') + 1) << row.path;
    EXPECT_TRUE(is_in_layer(row.path, decoder));
  }
}

TEST(Graph, LayersAreFoundByTheirPath) {
  const Program program = step();
  EXPECT_EQ(find_layer(*program.graph, ""), "");
  const std::string with_slashes = find_layer(*program.graph, "decoder/layers");
  EXPECT_EQ(with_slashes, "model/decoder/layers");
  EXPECT_EQ(find_layer(*program.graph, "model.decoder.layers"), with_slashes);
  EXPECT_THAT(error_of([&] { find_layer(*program.graph, "decoder/layrs"); }),
              HasSubstr("--layer: expected the path of a layer with ops, got 'decoder/layrs'; did "
                        "you mean '"));
}

TEST(Graph, SavedValuesShrinkWithRemat) {
  const SavedValues all = saved_values(*step().graph, "");
  const SavedValues few = saved_values(*step({kSaveNothing}).graph, "");
  EXPECT_LT(few.bytes(), all.bytes() / 3);
  // The loop keeps its carry: the input of each layer.
  EXPECT_THAT(few.values, Contains(Field(&SavedValue::iterations, 4)));
  for (const SavedValue& value : all.values) {
    EXPECT_FALSE(value.reader.empty()) << to_text(all);
    EXPECT_FALSE(value.op.empty()) << to_text(all);
  }
  EXPECT_THAT(all.values, Contains(Field(&SavedValue::tag, HasSubstr("q_proj"))));
}

TEST(Graph, SavedValuesBelongToLayers) {
  const Program program = step();
  const std::string layers = find_layer(*program.graph, "decoder/layers");
  const SavedValues own = saved_values(*program.graph, layers);
  EXPECT_FALSE(own.values.empty());
  for (const SavedValue& value : own.values) EXPECT_TRUE(is_in_layer(value.layer, layers));
  EXPECT_LT(own.bytes(), saved_values(*program.graph, "").bytes());
}

// Recomputation is part of the backward pass.
TEST(Graph, CountsTellRecomputedProducts) {
  const auto dots = [](const Program& program) {
    const std::string layer = find_layer(*program.graph, "decoder/layers/layer");
    for (const OpCount& count : op_counts(*program.graph, layer).ops) {
      if (count.op == "dot_general") return count;
    }
    return OpCount{};
  };
  const OpCount plain = dots(step()), again = dots(step({kSaveNothing}));
  EXPECT_GT(plain.count[0], 4);
  EXPECT_EQ(plain.count[1], 2 * plain.count[0]);
  EXPECT_EQ(plain.count[2], 0);
  EXPECT_EQ(plain.runs, 4.0 * static_cast<double>(plain.count[0] + plain.count[1]));
  EXPECT_EQ(again.count[0], plain.count[0]);
  EXPECT_GT(again.count[1], plain.count[1]);
}

TEST(Graph, ALayersForwardPassIsAProgram) {
  const Program program = step();
  const std::string layer = find_layer(*program.graph, "decoder/layers/layer/attention");
  const Program own = layer_program(program, layer);
  EXPECT_THAT(own.text, HasSubstr("stablehlo.dot_general"));
  EXPECT_THAT(own.text, Not(HasSubstr("stablehlo.while")));
  EXPECT_LT(own.text.size(), program.text.size() / 4);
  for (const OpNode* op : own.graph->ops()) EXPECT_TRUE(is_in_layer(layer_of(*op), layer));
  EXPECT_THAT(layer_program(program, find_layer(*program.graph, "decoder/layers")).text,
              HasSubstr("stablehlo.while"));
}

TEST(Graph, DrawingsShowLayersAndWhatFlowsBetweenThem) {
  const Program program = step();
  const std::string layer = find_layer(*program.graph, "decoder/layers/layer");
  const std::string text = drawing(program, layer, 1);
  EXPECT_THAT(text, HasSubstr("digraph step {"));
  EXPECT_THAT(text, HasSubstr("\"" + layer + "/attention\" -> \"" + layer + "/feed_forward\""));
  EXPECT_THAT(text, HasSubstr("FLOPs"));
}

TEST(Graph, DrawingNeedsGraphviz) {
  const EnvironmentChange no_programs("PATH", "/nonexistent");
  EXPECT_THAT(error_of([] { write_svg("digraph {}", "/nonexistent/graph.svg"); }),
              HasSubstr("install graphviz"));
}

TEST(Graph, ReportsAreTextAndJson) {
  const Program program = step();
  const LayerTable table = layer_table(program, "", {});
  EXPECT_THAT(to_text(table), HasSubstr("forward FLOPs"));
  EXPECT_EQ(to_json(table)["layers"].size(), table.rows.size());
  EXPECT_EQ(to_json(table)["layers"][0]["bytes"], table.rows[0].bytes);
  const OpCounts counts = op_counts(*program.graph, "");
  EXPECT_THAT(to_text(counts), HasSubstr("dot_general"));
  EXPECT_GT(to_json(counts)["ops"]["dot_general"]["backward"], 0);
  const SavedValues saved = saved_values(*program.graph, "");
  EXPECT_THAT(to_text(saved), HasSubstr("computed and kept"));
  EXPECT_EQ(to_json(saved)["values"].size(), saved.values.size());
}

}  // namespace
}  // namespace axle
