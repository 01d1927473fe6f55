// What `axle graph` reports of a training step.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ir/text/text_form.h"
#include "lower/stablehlo.h"
#include "ops/annotate.h"
#include "ops/ops.h"
#include "plan/compile_report.h"
#include "plan/graph/drawing.h"
#include "plan/graph/layer_table.h"
#include "plan/graph/saved_values.h"
#include "plan/graph/walk_ops.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRows = 3, kDim = 4, kLayers = 5;
const Type kInput{DType::kF32, {kRows, kDim}}, kWeights{DType::kF32, {kLayers, kDim, kDim}};
constexpr double kDotFlops = 2 * kRows * kDim * kDim;

Values layer(const Values& v) {
  Tensor q, h;
  {
    const NameScope scope("model/layers/layer/attention");
    q = name(dot(v[0], v[1]), "q_proj");
    h = tanh(q);
  }
  const NameScope scope("model/layers/layer/feed_forward");
  return {v[0] + dot(h * sin(q), v[2])};
}

Tensor loss_of(const Values& v, const RematPolicy& policy) {
  const ScanBody body = [&](const Values& carry, const Values& weights) -> ScanResult {
    const NameScope scope("model/layers/layer");
    return {remat(layer, {carry[0], weights[0], weights[1]}, policy, false), {}};
  };
  Tensor x;
  {
    const NameScope scope("model/layers");
    x = scan(body, {v[0]}, {v[1], v[2]}, kLayers).carry[0];
  }
  const NameScope scope("model/head");
  return sum(exp(x));
}

// A training step of two products per layer, layers in a loop, and gradient descent. With
// `num_parts`, the batch is computed so often, one part after another.
Program step(const RematPolicy& policy = save_everything(), int64_t num_parts = 0) {
  const std::vector<ProgramValue> state = {
      {"model/layers/layer/attention/weight", kWeights, {}, 0},
      {"model/layers/layer/feed_forward/weight", kWeights, {}, 1}};
  std::vector<ProgramValue> inputs = state;
  inputs.push_back({"x", kInput});
  return trace_program(
      "step",
      [&](const Values& p) {
        const auto gradients_at = [&](const Values& weights) {
          const auto loss = [&](const Values& w) {
            return Values{loss_of({p[2], w[0], w[1]}, policy)};
          };
          return value_and_grad(loss, weights).second;
        };
        const auto add_part = [&](const Values& sums, const Values&) {
          const Values own = gradients_at({p[0], p[1]});
          return ScanResult{.carry = {sums[0] + own[0], sums[1] + own[1]}, .ys = {}};
        };
        const Values gradients =
            num_parts > 0
                ? scan(add_part, {zeros_like(p[0]), zeros_like(p[1])}, {}, num_parts).carry
                : gradients_at({p[0], p[1]});
        return Values{p[0] - gradients[0] * 0.1, p[1] - gradients[1] * 0.1};
      },
      inputs, state);
}

const LayerRow& row_of(const LayerTable& table, const std::string& path) {
  for (const LayerRow& row : table.rows) {
    if (row.path == path) return row;
  }
  throw std::runtime_error("no row " + path);
}

TEST(Graph, CostsOfLayersAddUpToTheStep) {
  const Program program = step();
  const GraphCost whole = graph_cost(*program.graph);
  const LayerTable table = layer_table(program, "", {});
  const LayerRow& all = table.rows.front();
  EXPECT_EQ(all.path, "");
  EXPECT_EQ(all.flops[0] + all.flops[1] + all.flops[2], whole.flops);
  EXPECT_EQ(all.bytes[0] + all.bytes[1] + all.bytes[2], whole.bytes);
  EXPECT_EQ(all.num_parameters, 2 * kLayers * kDim * kDim);
  EXPECT_EQ(all.flops[2], 2 * 2 * kLayers * kDim * kDim);  // the update

  const LayerRow& attention = row_of(table, "model/layers/layer/attention");
  EXPECT_EQ(attention.num_parameters, kLayers * kDim * kDim);
  // A product and a tanh.
  EXPECT_EQ(attention.flops[0], kLayers * (kDotFlops + 8 * kRows * kDim));
  EXPECT_EQ(attention.flops[2], 0);
  const LayerRow& both = row_of(table, "model/layers/layer");
  EXPECT_GT(both.flops[0], attention.flops[0] + kLayers * kDotFlops);
  EXPECT_GT(both.flops[1], kLayers * 4 * kDotFlops);
  EXPECT_EQ(row_of(table, "model/head").num_parameters, 0);
}

// A batch in parts has the forward and the backward pass of a part, so often.
TEST(Graph, LoopOverPartsOfABatchHasBothPasses) {
  const Program at_once = step(), in_parts = step(save_everything(), 3);
  const LayerTable one = layer_table(at_once, "", {}), all = layer_table(in_parts, "", {});
  const LayerRow &of_one = row_of(one, "model/layers/layer"),
                 &of_all = row_of(all, "model/layers/layer");
  for (const size_t stage : {0u, 1u}) {
    EXPECT_GT(of_one.flops[stage], 0);
    EXPECT_EQ(of_all.flops[stage], 3 * of_one.flops[stage]) << kStageNames[stage];
  }
  EXPECT_GT(of_one.saved_bytes, 0);
  EXPECT_EQ(of_all.saved_bytes, of_one.saved_bytes);
  EXPECT_EQ(layer_program(in_parts, "model/layers").graph->results().size(),
            layer_program(at_once, "model/layers").graph->results().size());
  std::set<std::string> arguments;
  for (const SavedValue& value : saved_values(*in_parts.graph, "").values)
    if (value.is_argument) arguments.insert(value.op);
  EXPECT_THAT(arguments, Contains("model/layers/layer/attention/weight"));
}

TEST(Graph, RowsBeginAtALayerAndEndAtADepth) {
  const Program program = step();
  const LayerTable whole = layer_table(program, "model/layers", 1),
                   all = layer_table(program, "", {});
  ASSERT_EQ(whole.rows.size(), 2u);
  EXPECT_EQ(whole.rows[0].path, "model/layers");
  EXPECT_EQ(whole.rows[1].path, "model/layers/layer");
  EXPECT_EQ(whole.rows[0].flops, row_of(all, "model/layers").flops);
  EXPECT_EQ(all.rows[1].path, "model");
}

TEST(Graph, LayersAreFoundByTheirPath) {
  const Program program = step();
  const Region& graph = *program.graph;
  EXPECT_EQ(find_layer(graph, ""), "");
  for (const char* spelling : {"model/layers/layer", "model.layers.layer", "layers.layer",
                               "model/layers/layer/", "layers.layer.", "layers/layer//"})
    EXPECT_EQ(find_layer(graph, spelling), "model/layers/layer");
  EXPECT_EQ(error_of([&] { find_layer(graph, "model/layrs"); }),
            "--layer: expected the path of a layer with ops, got 'model/layrs'; did you mean "
            "'model/layers'?");
  for (const char* near : {"feed_forward", "layer.feed_forward.", "Model/Layers/Layer/Feed_Forward",
                           "layers.layer.0.feed_forward"}) {
    EXPECT_THAT(error_of([&] { find_layer(graph, near); }),
                HasSubstr("; did you mean 'model/layers/layer/feed_forward'?"))
        << near;
  }
  EXPECT_THAT(error_of([&] { find_layer(graph, "something"); }),
              HasSubstr("layers begin with model"));
}

TEST(Graph, SavedValuesFollowThePolicy) {
  const auto stacked = [](const RematPolicy& policy) {
    SavedValues saved = saved_values(*step(policy).graph, "model/layers/layer");
    std::erase_if(saved.values, [](const SavedValue& v) { return v.is_argument; });
    for (const SavedValue& value : saved.values) {
      EXPECT_EQ(value.iterations, kLayers);
      EXPECT_EQ(value.type, (Type{DType::kF32, {kLayers, kRows, kDim}}));
      EXPECT_FALSE(value.reader.empty()) << to_text(saved);
      EXPECT_TRUE(is_in_layer(value.reader_layer, "model/layers/layer")) << to_text(saved);
    }
    return saved.values;
  };
  // The layer's input is an argument of the loop's body; it belongs to no layer.
  EXPECT_EQ(stacked(save_nothing()).size(), 0u);
  EXPECT_THAT(stacked(save_names({"q_proj"})),
              ::testing::ElementsAre(
                  AllOf(Field(&SavedValue::op, "dot_general"), Field(&SavedValue::name, "q_proj"),
                        Field(&SavedValue::layer, "model/layers/layer/attention"))));
  EXPECT_EQ(stacked(save_everything()).size(), 4u);
  EXPECT_THAT(stacked(save_matching({}, {"q_proj"})),
              Contains(Field(&SavedValue::is_on_host, true)));
}

// A policy keeps the value with the name, of which other ops make the one that is listed.
TEST(Graph, SavedValuesAreNamedThroughCheapOps) {
  const auto names = [](const std::vector<std::string>& saved,
                        const std::vector<std::string>& off) {
    const auto body = [](const Values& v) {
      const Tensor both = dot(v[0], v[1]);
      const Tensor q =
          name(name(reshape(slice(both, {0, 0}, {kRows, 2}), {kRows, 2, 1}), "q"), "qk");
      const Tensor k = name(slice(both, {0, 2}, {kRows, 4}), "k");
      return Values{sum(sin(q)) + sum(sin(cos(k)))};
    };
    const Program program =
        trace_program("step",
                      [&](const Values& p) {
                        const auto fn = [&](const Values& w) {
                          return remat(body, {p[1], w[0]}, save_names(saved, off), false);
                        };
                        return Values{p[0] - value_and_grad(fn, {p[0]}).second[0]};
                      },
                      {{"weight", {DType::kF32, {kDim, kDim}}, {}, 0}, {"x", kInput}},
                      {{"weight", {DType::kF32, {kDim, kDim}}, {}, 0}});
    SavedValues out = saved_values(*program.graph, "");
    std::erase_if(out.values, [](const SavedValue& v) { return v.is_argument; });
    return out;
  };
  const SavedValues kept = names({"qk"}, {"k"});
  EXPECT_THAT(
      kept.values,
      ::testing::UnorderedElementsAre(
          AllOf(Field(&SavedValue::name, HasSubstr("qk")), Field(&SavedValue::is_on_host, false)),
          AllOf(Field(&SavedValue::name, "k"), Field(&SavedValue::is_on_host, true))))
      << to_text(kept);
  EXPECT_EQ(kept.bytes(Memory::kDevice), 4 * kRows * 2);
  EXPECT_EQ(kept.bytes(Memory::kHost), 4 * kRows * 2);
  EXPECT_THAT(to_text(kept),
              HasSubstr("24 B computed and kept on the devices, 24 B on the host, and"));
  EXPECT_EQ(to_json(kept)["host_bytes"], 24);
  EXPECT_EQ(to_json(kept)["values"][0]["name"], kept.values[0].name);
}

TEST(Graph, SavedValuesHaveATotal) {
  const SavedValues saved = saved_values(*step(save_nothing()).graph, "");
  // The loop's carry, and the input of the exp, or its result.
  EXPECT_EQ(saved.bytes(Memory::kDevice), 4.0 * kRows * kDim * (kLayers + 1)) << to_text(saved);
  EXPECT_THAT(saved.values, Contains(Field(&SavedValue::is_argument, true)));
  EXPECT_THAT(to_text(saved), HasSubstr("computed and kept"));
  EXPECT_EQ(to_json(saved)["values"].size(), saved.values.size());
}

// Recomputation is part of the backward pass.
TEST(Graph, CountsIncludeRecomputedProducts) {
  const auto dots = [](const RematPolicy& policy) {
    for (const OpCount& count : op_counts(*step(policy).graph, "model/layers/layer").ops) {
      if (count.op == "dot_general") return count;
    }
    return OpCount{};
  };
  using Counts = std::array<int64_t, 3>;
  EXPECT_EQ(dots(save_everything()).count, (Counts{2, 4, 0}));
  EXPECT_EQ(dots(save_nothing()).count, (Counts{2, 5, 0}));
  EXPECT_EQ(dots(save_nothing()).runs, 7 * kLayers);
}

// Neither a learning rate nor a constant of the update depends on a gradient.
TEST(Graph, LearnerBelongsToTheUpdate) {
  const Type vector{DType::kF32, {kDim}};
  const Program program = trace_program(
      "step",
      [](const Values& p) {
        const auto loss = [](const Values& w) {
          const NameScope scope("model/head");
          return Values{sum(exp(w[0]))};
        };
        const auto [values, gradients] = value_and_grad(loss, {p[0]});
        const Tensor norm = sum(square(gradients[0])) + full({}, 2);
        const NameScope scope("learner");
        return Values{p[0] - gradients[0] * cos(p[1]) / sqrt(norm), p[1] + sin(p[1]), values[0]};
      },
      {{"model/head/weight", vector, {}, 0}, {"learner/count", {DType::kF32, {}}, {}, 1}},
      {{"model/head/weight", vector},
       {"learner/count", {DType::kF32, {}}},
       {"loss", {DType::kF32, {}}}});
  using Counts = std::array<int64_t, 3>;
  std::map<std::string, Counts> found;
  Counts sum = {};
  for (const OpCount& count : op_counts(*program.graph, "").ops) {
    found[count.op] = count.count;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += count.count[i];
  }
  EXPECT_EQ(found["exp"], (Counts{1, 0, 0}));
  for (const char* op : {"cos", "sin", "sqrt"}) EXPECT_EQ(found[op], (Counts{0, 0, 1})) << op;
  EXPECT_EQ(found["full"][0], 0);
  const LayerTable table = layer_table(program, "", {});
  EXPECT_EQ(table.rows[0].num_ops, sum);
  EXPECT_EQ(row_of(table, "learner").num_ops[0], 0);
  EXPECT_GT(row_of(table, "learner").num_ops[2], 0);
  EXPECT_EQ(row_of(table, "learner").bytes[0], 0);
  EXPECT_EQ(row_of(table, "model").num_ops[2], 0);
  EXPECT_THAT(drawing(program, "", {}), Not(HasSubstr("learner")));
  EXPECT_EQ(error_of([&] { drawing(program, "learner", {}); }),
            "--layer: expected a layer of the forward pass, got 'learner'");
}

TEST(Graph, LayerProgramIsItsForwardPass) {
  const Program program = step();
  const Program own = layer_program(program, "model/layers/layer/feed_forward");
  EXPECT_EQ(count_ops(*own.graph, "dot_general"), 1);
  EXPECT_EQ(count_ops(*own.graph, "tanh"), 0);
  EXPECT_THAT(own.text, AllOf(HasSubstr("stablehlo.dot_general"), HasSubstr("module @layer"),
                              Not(HasSubstr("stablehlo.while"))));
  EXPECT_THAT(layer_program(program, "model/layers").text, HasSubstr("stablehlo.while"));
}

TEST(Graph, DrawingsShowLayersAndWhatFlowsBetweenThem) {
  const std::string text = drawing(step(), "model/layers/layer", 1);
  EXPECT_THAT(text, HasSubstr("digraph step {"));
  EXPECT_THAT(text, HasSubstr("\"model/layers/layer/attention\" -> "
                              "\"model/layers/layer/feed_forward\" [label=\"96 B\"]"));
  EXPECT_THAT(text, HasSubstr("[label=\"attention\\n"));
  EXPECT_THAT(drawing(step(), "", {}), HasSubstr("\"model/layers\" -> \"model/head\""));
}

TEST(Graph, DrawingNeedsGraphviz) {
  const EnvironmentChange no_programs("PATH", "/nonexistent");
  EXPECT_EQ(error_of<DeviceError>([] { write_svg("digraph {}", "/nonexistent/graph.svg"); }),
            "--svg: expected graphviz's program 'dot' in PATH, got none; install the package "
            "graphviz, or print the drawing as text with --dot");
}

TEST(Graph, ReportsAreTextAndJson) {
  const Program program = step();
  const LayerTable table = layer_table(program, "", {});
  EXPECT_THAT(to_text(table), HasSubstr("forward FLOPs"));
  EXPECT_EQ(to_json(table)["layers"].size(), table.rows.size());
  const auto first = to_json(table)["layers"][0];
  EXPECT_EQ(first["flops"]["update"], table.rows[0].flops[2]);
  EXPECT_EQ(first["ops"]["backward"], table.rows[0].num_ops[1]);
  EXPECT_EQ(first["bytes"]["forward"], table.rows[0].bytes[0]);
  const OpCounts counts = op_counts(*program.graph, "");
  EXPECT_THAT(to_text(counts), HasSubstr("dot_general"));
  EXPECT_EQ(to_json(counts)["ops"]["dot_general"]["backward"], 4);
}

}  // namespace
}  // namespace axle
