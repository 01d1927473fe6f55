// The arguments of eval-op and eval-layer.
#include "cli/arguments/comparison_arguments.h"

#include <gmock/gmock.h>

#include "cli/arguments/parse_test.h"
#include "testing/error_of.h"

namespace axle::cli {
namespace {

TEST(EvalOpArguments, FlagsAreRefusedWhereTheyHaveNoEffect) {
  const auto error = [](const std::vector<std::string>& words) {
    return error_of([&] { parsed<EvalOpArguments>(words).check(); });
  };
  EXPECT_EQ(error({}), "axle eval-op: expected CASE.yaml or --list, got neither");
  EXPECT_EQ(error({"a.yaml"}), "no error");
  EXPECT_EQ(error({"a.yaml", "--tolerance", "1e-3"}),
            "--tolerance: expected use with --compare, got no --compare");
  EXPECT_EQ(error({"a.yaml", "--f64"}), "--f64: expected --backend interpreter, got cpu");
  EXPECT_EQ(error({"a.yaml", "--f64", "--backend", "interpreter"}), "no error");
}

TEST(EvalOpArguments, FlagsThatListIgnoresAreRefused) {
  const auto error = [](const std::vector<std::string>& words) {
    return error_of([&] { parsed<EvalOpArguments>(words).check_list(); });
  };
  EXPECT_EQ(error({"--function", "dot"}), "--function: expected use with --list, got no --list");
  EXPECT_EQ(error({"--list", "--function", "dot"}), "no error");
  EXPECT_EQ(error({"a.yaml", "--list"}), "--list: expected no CASE.yaml, got a.yaml");
  EXPECT_EQ(error({"--list", "--only", "a"}), "--only: expected use without --list");
  EXPECT_EQ(error({"--list", "--tolerance", "1"}), "--tolerance: expected use without --list");
}

TEST(EvalOpArguments, ToleranceIsRelativeByDefault) {
  const auto tolerance = [](const std::vector<std::string>& words) {
    return parsed<EvalOpArguments>(words).element_tolerance();
  };
  EXPECT_EQ(tolerance({}).largest, 1e-5);
  EXPECT_EQ(tolerance({"--tolerance", "0.5"}).largest, 0.5);
  EXPECT_THAT(error_of([&] {
                tolerance({"--tolerance", "close"});
              }),
              ::testing::StartsWith("--tolerance: "));
}

TEST(EvalOpArguments, FlagsThatNameSeveralKeepThemAll) {
  const auto arguments = parsed<EvalOpArguments>({"a.yaml", "--only", "x", "--only", "y", "--f64"});
  EXPECT_EQ(arguments.cases, "a.yaml");
  EXPECT_THAT(arguments.only, ::testing::ElementsAre("x", "y"));
  EXPECT_TRUE(arguments.f64);
}

TEST(EvalLayerArguments, FlagsAreRefusedWhereTheyHaveNoEffect) {
  const auto error = [](std::vector<std::string> words, bool json = false) {
    words.insert(words.begin(), "layer.yaml");
    return error_of([&] { parsed<EvalLayerArguments>(words).check(json); });
  };
  EXPECT_EQ(error({}), "axle eval-layer: expected --output or --compare, got neither");
  EXPECT_EQ(error({"--compare", "r"}, true), "no error");
  EXPECT_EQ(error({"--output", "o", "--tolerance", "1"}),
            "--tolerance: expected use with --compare, got no --compare");
  EXPECT_EQ(error({"--output", "o"}, true),
            "--json: expected use with --compare, whose table it prints, got no --compare");
  EXPECT_EQ(error({"--compare", "r", "--their-names"}),
            "--their-names: expected use with --output, got no --output");
}

TEST(EvalLayerArguments, ThePrecisionIsAFloatDType) {
  const auto dtype = [](std::vector<std::string> words) {
    words.insert(words.begin(), "layer.yaml");
    return parsed<EvalLayerArguments>(words).options().layer.dtype;
  };
  EXPECT_EQ(dtype({}), std::nullopt);
  EXPECT_EQ(dtype({"--precision", "bf16"}), DType::kBF16);
  EXPECT_EQ(error_of([&] {
              dtype({"--precision", "i32"});
            }),
            "--precision: expected f32, bf16 or f64, got i32");
}

}  // namespace
}  // namespace axle::cli
