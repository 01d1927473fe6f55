// Quantized products compiled for an absent H100: the compiler converts them to products of 8-bit
// floats of its library, forward and backward. A reshape or a name between a scale and its product
// would lose them without a word.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hlo/module.h"
#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

// Returns how many products of the optimised program have operands of these element types:
// "f8e4m3fn, f8e5m2" for the products of a backward pass.
std::map<std::string, int> products_by_operands(const std::string& product) {
  const Target target = parse_target("gpu:h100:1x1");
  // All dims are multiples of 16, as products of 8-bit floats need them.
  const Resolved resolved =
      resolve_config({.recipe = "fuji-test-v1",
                      .edits = {SetField{"mesh", "data=1"}, SetField{"compute_dtype", "bf16"},
                                SetField{"model.decoder.model_dim", "128"},
                                SetField{"model.decoder.layers.num_layers", "1"},
                                UseModifier{"QuantizeProducts: {with: " + product + "}"}},
                      .machine = target.machine()});
  const HloModule module =
      read_hlo_module(optimized_program(lower_step(resolved.config, "fuji-test-v1", target)));
  std::map<std::string, int> out;
  for (const HloComputation& computation : module.computations) {
    for (const HloInstruction& op : computation.instructions) {
      if (op.custom_call_target.find("cublas") == std::string::npos || op.operands.size() < 2)
        continue;
      const auto type = [&](size_t i) {
        return std::string(computation.instructions[op.operands[i]].shape.element_type);
      };
      ++out[type(0) + ", " + type(1)];
    }
  }
  return out;
}

TEST(WeeklyFp8, ProductsBecomeFp8LibraryCalls) {
  AXLE_NEEDS_PLUGIN("cuda");
  for (const char* product : {"Fp8Product", "DelayedFp8Product"}) {
    SCOPED_TRACE(product);
    const std::map<std::string, int> products = products_by_operands(product);
    std::string all;
    for (const auto& [types, count] : products) all += types + " x " + std::to_string(count) + "\n";
    const auto count = [&](const char* types) {
      const auto found = products.find(types);
      return found == products.end() ? 0 : found->second;
    };
    // Queries, keys and values in one, the output, gate, up and down: each forward, and twice
    // backward, with a cotangent on either side. Forward, the compiler joins gate and up where they
    // read the same scaled input.
    EXPECT_GE(count("f8e4m3fn, f8e4m3fn"), 4) << all;
    EXPECT_GE(count("f8e5m2, f8e4m3fn") + count("f8e4m3fn, f8e5m2"), 10) << all;
  }
}

}  // namespace
}  // namespace axle
