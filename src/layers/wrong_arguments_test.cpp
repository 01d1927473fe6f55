// Calls of layers whose arguments do not fit their role: one line names the layer, what it takes
// and what it got, and no line of the library.
#include <gmock/gmock.h>

#include "layers/attention/attention.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/dense/linear.h"
#include "layers/experts/linear_routers.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/norms/batch_norms.h"
#include "layers/norms/norm.h"
#include "layers/recurrent/recurrent.h"
#include "testing/error_of.h"
#include "testing/layer_inputs.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::normal_values;

// The message of a call of a layer without a path, as eval-layer builds it.
template <class L>
std::string refusal(const typename L::Config& config, const typename L::Role::Dims& dims,
                    const HostTensor& x) {
  const auto layer = Child<typename L::Role>(config).build(dims, Scope{});
  const Tree<HostTensor> parameters = testing::initial_parameters(*layer, 1);
  return error_of<ShapeError>([&] { testing::call_layer(*layer, parameters, {{"x", x}}); });
}

template <class L>
void expect_refusals(const typename L::Config& config, const typename L::Role::Dims& dims,
                     const std::string& expected, size_t rank) {
  const std::string name(L::Config::config_type().name);
  SCOPED_TRACE(name);
  Shape shape(rank, 2);
  shape.back() = 8;
  const auto says = [&](const HostTensor& x, const std::string& got) {
    const bool is_empty = std::ranges::count(x.shape(), 0) > 0;
    EXPECT_EQ(refusal<L>(config, dims, x), name + ": expected floats [" + expected + ", 8]" +
                                               (is_empty ? " without a dim of size 0" : "") +
                                               " for 'x' of " + name + ", got " + got);
  };
  says(HostTensor(Type{DType::kI32, shape}), to_text(Type{DType::kI32, shape}));
  says(HostTensor(Type{DType::kF32, {}}), "f32[]");
  Shape wide = shape, empty = shape;
  wide.back() = 9;
  empty.front() = 0;
  for (const Shape& other : {wide, empty})
    says(HostTensor(Type{DType::kF32, other}), to_text(Type{DType::kF32, other}));
  if (expected == "...") return;
  Shape more = shape, fewer(shape.begin() + 1, shape.end());
  more.insert(more.begin(), 2);
  for (const Shape& other : {more, fewer})
    says(HostTensor(Type{DType::kF32, other}), to_text(Type{DType::kF32, other}));
}

TEST(WrongArguments, NumbersOfHeadsAreCheckedByTheLayer) {
  EXPECT_EQ(refusal<HeadOutputLinear>({}, {.model_dim = 8, .num_heads = 2, .head_dim = 8},
                                      HostTensor(Type{DType::kF32, {1, 2, 3, 8}})),
            "HeadOutputLinear: expected 2 heads for 'x' of HeadOutputLinear, got f32[1, 2, 3, 8]");
}

TEST(WrongArguments, AreReportedByTheLayer) {
  expect_refusals<RMSNorm>({}, {.input_dim = 8}, "...", 3);
  expect_refusals<GroupNorm>({.num_groups = 2}, {.input_dim = 8}, "...", 3);
  expect_refusals<Linear>({}, {.input_dim = 8, .output_dim = 4}, "...", 3);
  expect_refusals<MultiLinear>({}, {.input_dim = 8, .num_outputs = 2, .output_dim = 4}, "...", 3);
  expect_refusals<FeedForward>({}, {.model_dim = 8}, "?, ?", 3);
  expect_refusals<Attention>({.num_heads = 2}, {.model_dim = 8}, "?, ?", 3);
  expect_refusals<PreNorm>({.body = FeedForward::Config{}}, {.model_dim = 8}, "?, ?", 3);
  expect_refusals<FusedQKV>({}, {.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4},
                            "?, ?", 3);
  expect_refusals<HeadInputLinear>({}, {.model_dim = 8, .num_heads = 2, .head_dim = 4}, "?, ?", 3);
  expect_refusals<HeadOutputLinear>({}, {.model_dim = 8, .num_heads = 2, .head_dim = 8}, "?, ?, ?",
                                    4);
  expect_refusals<SwitchRouter>({}, {.model_dim = 8, .num_experts = 2, .num_groups = 1}, "?, ?", 3);
  expect_refusals<Recurrent>({.cell = LSTMCell::Config{}}, {.model_dim = 8}, "?, ?", 3);
  expect_refusals<LSTMCell>({}, {.input_dim = 8, .output_dim = 8}, "?, ?", 3);
}

}  // namespace
}  // namespace axle
