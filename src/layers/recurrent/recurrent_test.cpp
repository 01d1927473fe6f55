// Tests of LSTMCell, StackedCells, RepeatedCells and the mixer Recurrent.
#include "layers/recurrent/recurrent.h"

#include "layers/norms/batch_norms.h"
#include "layers/norms/norm.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

const LSTMCell::Config kSmall{.hidden_dim = 3};
const LSTMCell::Config kNormed{
    .hidden_dim = 3, .norm = LayerNorm::Config{.eps = 0.1f}, .max_cell_value = 0.5};

AXLE_LAYER_LAWS(LSTMCell, {.input_dim = 3, .output_dim = 2},
                {{"default", {}}, {"projected", kSmall}, {"all_options", kNormed}})
AXLE_LAYER_LAWS(StackedCells, {.input_dim = 3, .output_dim = 2},
                {{"two", {.layers = {LSTMCell::Config{}, kSmall}, .dims = {4}}}})
AXLE_LAYER_LAWS(RepeatedCells, {.input_dim = 3, .output_dim = 3},
                {{"two", {.num_layers = 2, .layer = kSmall}}})
AXLE_LAYER_LAWS(Recurrent, {.model_dim = 3},
                {{"lstm", {}},
                 {"repeated", {.cell = RepeatedCells::Config{.num_layers = 2, .layer = kNormed}}}})

TEST(LSTMCell, StepEqualsItsDefinition) {
  auto layer = build_for_test<LSTMCell>({}, {.input_dim = 1, .output_dim = 1});
  // Gate k is (0.1 + k / 10) * x + m.
  layer.set("input_proj/weight",
            HostTensor({2, 4, 1}, {0.1f, 0.2f, 0.3f, 0.4f, 1.0f, 1.0f, 1.0f, 1.0f}));
  const float x = 2, m = 0.5f, c = -1;
  const auto result = layer.call({{"x", HostTensor({1, 1}, {x})},
                                  {"state/m", HostTensor({1, 1}, {m})},
                                  {"state/c", HostTensor({1, 1}, {c})}},
                                 {.method = "step"});
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double new_c = sigmoid(0.2 * x + m) * c + sigmoid(0.3 * x + m) * std::tanh(0.1 * x + m);
  const double y = sigmoid(0.4 * x + m) * std::tanh(new_c);
  ASSERT_EQ(result.outputs.size(), 3u);  // y, state/c, state/m
  EXPECT_NEAR(result.outputs[0].at(0), y, 1e-6);
  EXPECT_NEAR(result.outputs[1].at(0), new_c, 1e-6);
  EXPECT_NEAR(result.outputs[2].at(0), y, 1e-6);
}

TEST(LSTMCell, TheCellIsClipped) {
  auto layer =
      build_for_test<LSTMCell>({.max_cell_value = 0.25}, {.input_dim = 1, .output_dim = 1});
  layer.set("input_proj/weight", HostTensor::full({2, 4, 1}, 3));
  const auto result = layer.call({{"x", HostTensor({1, 1}, {2.0f})},
                                  {"state/m", HostTensor({1, 1}, {0.0f})},
                                  {"state/c", HostTensor({1, 1}, {5.0f})}},
                                 {.method = "step"});
  EXPECT_EQ(result.outputs[1], HostTensor({1, 1}, {0.25f}));
}

// The scan is the steps one by one, whose state is that of the scan.
template <class Cell>
void expect_steps(typename Cell::Config cfg, int64_t dim) {
  auto layer = build_for_test<Cell>(cfg, {.input_dim = dim, .output_dim = dim});
  const HostTensor x = normal_values({4, 2, dim}, 1);
  const HostTensor whole = layer.run(x);
  Tree<HostTensor> state;
  for (const auto& [name, spec] : layer.layer().state_specs_of(2, DType::kF32))
    state.emplace("state/" + name, HostTensor(spec.type));
  for (int64_t t = 0; t < 4; ++t) {
    Tree<HostTensor> inputs = state;
    const auto begin = static_cast<size_t>(t * 2 * dim), size = static_cast<size_t>(2 * dim);
    inputs.emplace("x", HostTensor({2, dim}, x.values<float>().subspan(begin, size)));
    const auto result = layer.call(inputs, {.method = "step"});
    for (size_t j = 0; j < size; ++j)
      ASSERT_NEAR(result.outputs[0].at(static_cast<int64_t>(j)),
                  whole.at(static_cast<int64_t>(begin + j)), 1e-6);
    size_t i = 1;
    for (auto& [name, value] : state) value = result.outputs[i++];
  }
}
TEST(RecurrentCell, ScanMatchesItsSteps) {
  expect_steps<LSTMCell>(kNormed, 2);
  expect_steps<StackedCells>({.layers = {kSmall, LSTMCell::Config{}}}, 2);
  expect_steps<RepeatedCells>({.num_layers = 3, .layer = kSmall}, 2);
}

// Parameters "stacked_cells/layer<i>/..." as in RepeatedCells.
Tree<HostTensor> as_repeated(const Tree<HostTensor>& of_stacked, int64_t n) {
  Tree<HostTensor> out;
  const std::string first = "stacked_cells/layer0";
  for (const auto& [path, value] : of_stacked) {
    if (!path.starts_with(first)) continue;
    const std::string below = path.substr(first.size());
    Shape shape = value.shape();
    shape.insert(shape.begin(), n);
    HostTensor all(Type{value.dtype(), shape});
    auto to = all.values<float>().begin();
    for (int64_t i = 0; i < n; ++i) {
      const HostTensor& own = of_stacked.at("stacked_cells/layer" + std::to_string(i) + below);
      to = std::ranges::copy(own.values<float>(), to).out;
    }
    out.emplace("repeated_cells/layer" + below, all);
  }
  return out;
}

TEST(RepeatedCells, MatchStackedCells) {
  auto stacked = build_for_test<StackedCells>({.layers = {kNormed, kNormed, kNormed}},
                                              {.input_dim = 2, .output_dim = 2});
  auto repeated = build_for_test<RepeatedCells>({.num_layers = 3, .layer = kNormed},
                                                {.input_dim = 2, .output_dim = 2});
  EXPECT_EQ(testing::initial_parameters(repeated.layer(), 5),
            as_repeated(testing::initial_parameters(stacked.layer(), 5), 3));
  repeated.set_all(as_repeated(stacked.parameters(), 3));
  const HostTensor x = normal_values({4, 2, 2}, 1);
  EXPECT_EQ(repeated.run(x), stacked.run(x));
}

// A norm with moving averages in a cell sees one step after the other.
template <class Cell>
void expect_layer_state(typename Cell::Config cfg) {
  auto layer = build_for_test<Cell>(cfg, {.input_dim = 2, .output_dim = 2});
  const HostTensor x = normal_values({3, 4, 2}, 1);
  const auto whole = layer.call({{"x", x}}, {.training = true}).state;
  ASSERT_EQ(whole.size(), 2u);
  Tree<HostTensor> cell, of_norm;
  for (const auto& [name, spec] : layer.layer().state_specs_of(4, DType::kF32))
    cell.emplace("state/" + name, HostTensor(spec.type));
  for (size_t t = 0; t < 3; ++t) {
    Tree<HostTensor> inputs = cell;
    inputs.emplace("x", HostTensor({4, 2}, x.values<float>().subspan(t * 8, 8)));
    const auto result = layer.call(inputs, {.method = "step", .training = true, .state = of_norm});
    size_t i = 1;
    for (auto& [name, value] : cell) value = result.outputs[i++];
    EXPECT_NE(result.state, of_norm);
    of_norm = result.state;
  }
  for (const auto& [name, value] : whole) EXPECT_ALLCLOSE(of_norm.at(name), value) << name;
}
TEST(RecurrentCell, StateOfInnerLayersPassesFromStepToStep) {
  const LSTMCell::Config cell{.norm = BatchNorm::Config{.decay = 0.5}};
  expect_layer_state<LSTMCell>(cell);
  expect_layer_state<RepeatedCells>({.num_layers = 2, .layer = cell});
}

TEST(Recurrent, TextsOfOneRowDoNotSeeEachOther) {
  auto layer = build_for_test<Recurrent>({}, {.model_dim = 3});
  const HostTensor both = normal_values({1, 5, 3}, 1);
  const HostTensor second = layer.run(HostTensor({1, 2, 3}, both.values<float>().subspan(9, 6)));
  const auto expect_second = [&](const Tree<HostTensor>& context) {
    Tree<HostTensor> inputs = context;
    inputs.emplace("x", both);
    const HostTensor got = layer.call(inputs).outputs[0];
    EXPECT_EQ(HostTensor({1, 2, 3}, got.values<float>().subspan(9, 6)), second);
  };
  expect_second({{"context/positions", HostTensor({1, 5}, {0, 1, 2, 0, 1})}});
  expect_second({{"context/segment_ids", HostTensor({1, 5}, {1, 1, 1, 2, 2})}});
}

TEST(RecurrentCell, ChecksItsFieldsAndState) {
  const RecurrentCell::Dims dims{.input_dim = 3, .output_dim = 2};
  EXPECT_ERROR(build_for_test<StackedCells>({}, dims),
               "stacked_cells.layers: expected at least one cell, got none");
  EXPECT_ERROR(build_for_test<StackedCells>({.layers = {kSmall, kSmall}, .dims = {1, 2}}, dims),
               "stacked_cells.dims: must have an entry for each of the first 1 layers or none, "
               "got 2");
  EXPECT_ERROR(build_for_test<RepeatedCells>({.num_layers = 2}, dims),
               "repeated_cells.layer: expected the same input and output dim to repeat it, got 3 "
               "and 2");
  EXPECT_ERROR(build_for_test<LSTMCell>({.max_cell_value = -1}, dims),
               "lstm_cell.max_cell_value: expected a number above 0, got -1.0");
  auto layer = build_for_test<LSTMCell>({}, dims);
  EXPECT_ERROR(layer.call({{"x", HostTensor::ones({1, 3})}, {"state/m", HostTensor::ones({1, 2})}},
                          {.method = "step"}),
               "lstm_cell: expected the state 'c', got none");
  EXPECT_ERROR(layer.run(HostTensor::ones({1, 3})),
               "lstm_cell: expected floats [?, ?, 3] for 'x' of LSTMCell, got f32[1, 3]");
}

}  // namespace
}  // namespace axle
