#include <gmock/gmock.h>

#include "cli/arguments/export_arguments.h"
#include "cli/arguments/parse_test.h"
#include "testing/error_of.h"

namespace axle::cli {
namespace {

GraphForm form(const std::vector<std::string>& words) {
  GraphArguments arguments;
  Output out;
  parse([&](CLI::App& app) { arguments.add_to(app, out); }, words);
  return arguments.form(out.json());
}
std::string error_in(const std::vector<std::string>& words) {
  return error_of([&] { form(words); });
}

TEST(GraphArguments, SeveralFormsAreRefused) {
  EXPECT_EQ(form({"--json"}), GraphForm::kFlops);
  EXPECT_EQ(form({"--svg", "a.svg"}), GraphForm::kSvg);
  EXPECT_EQ(form({"--residuals", "--json"}), GraphForm::kResiduals);
  EXPECT_EQ(error_in({"--flops", "--op-counts"}),
            "--op-counts: expected one form, got also --flops; leave out one");
  EXPECT_EQ(error_in({"--svg", "a.svg", "--hlo"}),
            "--svg: expected one form, got also --hlo; leave out one");
}

TEST(GraphArguments, FlagsWithoutEffectAreRefused) {
  EXPECT_EQ(error_in({"--dot", "--json"}),
            "--json: expected --flops, --op-counts or --residuals, got --dot; leave out --json");
  EXPECT_EQ(error_in({"--optimized", "--layer", "model"}),
            "--layer: expected a form that shows layers, got --optimized; leave out --layer");
  EXPECT_EQ(error_in({"--hlo", "--depth", "2"}),
            "--depth: expected --flops, --dot or --svg, got --hlo; leave out --depth");
  EXPECT_EQ(error_in({"--layer", "model", "--depth", "2"}), "no error");
}

TEST(GraphArguments, LeastDepthDependsOnTheForm) {
  EXPECT_EQ(error_in({"--depth", "0"}), "no error");
  EXPECT_EQ(error_in({"--dot", "--depth", "0"}), "--depth: expected at least 1, got 0");
  EXPECT_EQ(error_in({"--depth=-1"}), "--depth: expected at least 0, got -1");
  EXPECT_EQ(error_in({"--layer", ""}), "--layer: expected the path of a layer, got an empty text");
}

}  // namespace
}  // namespace axle::cli
