// The text of scans with several iterations in the body of the loop.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "ops/elementwise/elementwise.h"
#include "testing/error_of.h"
#include "transform/control_flow/control_flow.h"
#include "transform/trace.h"

namespace axle {
namespace {

constexpr int64_t kLength = 7;

std::string scan_unroll_text_of(int64_t unroll) {
  const auto graph = trace(
      [&](const Values& x) {
        const ScanResult r = scan(
            [](const Values& c, const Values& xs) {
              return ScanResult{{tanh(c[0] + xs[0])}, {c[0]}};
            },
            {x[0]}, {x[1]}, kLength, {.unroll = unroll});
        return Values{r.carry[0], r.ys[0]};
      },
      {{DType::kF32, {2}}, {DType::kF32, {kLength, 2}}});
  std::vector<ProgramValue> inputs, outputs;
  for (const Tensor& p : graph->parameters()) inputs.push_back({"x", p.type()});
  for (const Tensor& r : graph->results()) outputs.push_back({"y", r.type()});
  return lower(graph, "test", inputs, outputs).text;
}

int64_t scan_unroll_count(const std::string& text, std::string_view word) {
  int64_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(ScanUnroll, RepeatsTheBodyInABlockAndForTheRemainder) {
  struct Case {
    int64_t unroll, bodies, loops;
  };
  for (const Case& c : {Case{1, 1, 1}, Case{2, 3, 1}, Case{3, 4, 1}, Case{5, 7, 1}, Case{7, 7, 0},
                        Case{100, 7, 0}}) {
    SCOPED_TRACE(c.unroll);
    const std::string text = scan_unroll_text_of(c.unroll);
    EXPECT_EQ(scan_unroll_count(text, "stablehlo.tanh"), c.bodies);
    EXPECT_EQ(scan_unroll_count(text, "stablehlo.while"), c.loops);
  }
}

TEST(ScanUnroll, RefusesLessThanOneIteration) {
  EXPECT_THAT(error_of<ShapeError>([] { scan_unroll_text_of(0); }),
              ::testing::HasSubstr("expected to unroll at least 1 iteration, got 0"));
}

}  // namespace
}  // namespace axle
