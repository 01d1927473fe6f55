// Private functions of the text: one for all calls of equal bodies.
#include <gtest/gtest.h>

#include <algorithm>

#include "lower/stablehlo.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/call.h"
#include "transform/grad.h"
#include "transform/simplify.h"

namespace axle {
namespace {

constexpr int kLayers = 6;

int64_t count(const std::string& text, std::string_view word) {
  int64_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// Each layer is a call, under its own path. With `odd_layer`, one of them computes something else.
Tensor model(const Values& weights, const Tensor& input, int odd_layer) {
  Tensor x = input;
  for (int i = 0; i < kLayers; ++i) {
    const NameScope scope("layer" + std::to_string(i));
    const auto layer = [&](const Values& v) {
      return Values{i == odd_layer ? sin(dot(v[0], v[1])) : tanh(dot(v[0], v[1]))};
    };
    x = call("layer", layer, {x, weights[i]})[0];
  }
  return sum(x * x);
}

std::string text_of(bool with_gradients, int odd_layer) {
  std::vector<Type> types(kLayers, Type{DType::kF32, {4, 4}});
  types.push_back({DType::kF32, {2, 4}});
  const auto graph = simplify(*trace(
      [&](const Values& x) {
        const Values weights(x.begin(), x.end() - 1);
        const auto loss = [&](const Values& w) { return Values{model(w, x.back(), odd_layer)}; };
        return with_gradients ? value_and_grad(loss, weights).second : loss(weights);
      },
      types));
  std::vector<ProgramValue> inputs, outputs;
  for (const Tensor& p : graph->parameters()) inputs.push_back({"x", p.type()});
  for (const Tensor& r : graph->results()) outputs.push_back({"y", r.type()});
  return lower(graph, "test", inputs, outputs).text;
}

TEST(EqualCalls, LayersShareOneFunction) {
  const std::string text = text_of(false, -1);
  EXPECT_EQ(count(text, "func.func private"), 1);
  EXPECT_EQ(count(text, "stablehlo.tanh"), 1);
  EXPECT_EQ(count(text, "func.call"), kLayers);
}

TEST(EqualCalls, BackwardPassSharesFunctionsToo) {
  const std::string text = text_of(true, -1);
  // The first layer's backward call has a function of its own: nobody needs the gradient of its
  // input.
  EXPECT_EQ(count(text, "func.func private"), 3);
  EXPECT_EQ(count(text, "func.call"), 2 * kLayers);
}

TEST(EqualCalls, DifferentBodiesKeepTheirOwnFunctions) {
  const std::string text = text_of(false, 2);
  EXPECT_EQ(count(text, "func.func private"), 2);
  EXPECT_EQ(count(text, "stablehlo.sine"), 1);
}

}  // namespace
}  // namespace axle
