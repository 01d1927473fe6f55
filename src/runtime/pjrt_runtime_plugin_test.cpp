#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/plugin.h"
#include "runtime/runtime.h"

namespace axle {
namespace {

Program add_program() {
  return {.name = "add",
          .text = R"(module @m { func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
            %0 = "stablehlo.add"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
            return %0 : tensor<2x3xf32> } })",
          .inputs = {{"x", {DType::kF32, {2, 3}}}, {"y", {DType::kF32, {2, 3}}}},
          .outputs = {{"sum", {DType::kF32, {2, 3}}}}};
}

TEST(PjrtRuntime, AddsTwoTensors) {
  auto runtime = make_runtime({});
  auto add = runtime->compile(add_program());
  const HostTensor x({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const Arrays args = {runtime->make_array(x, {}, {}), runtime->make_array(x, {}, {})};
  EXPECT_EQ(add->execute(args)[0]->to_host(), HostTensor({2, 3}, {2.f, 4.f, 6.f, 8.f, 10.f, 12.f}));
}

}  // namespace
}  // namespace axle
