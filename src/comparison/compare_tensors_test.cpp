#include "comparison/compare_tensors.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/safetensors.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

class CompareTensors : public ::testing::Test {
 protected:
  TensorComparison compare(const Tree<HostTensor>& results, const Tree<HostTensor>& reference,
                           const std::string& rules = "",
                           const std::vector<std::string>& tolerances = {}) {
    save_safetensors(dir_ / "ref.safetensors", reference);
    const RenameRules renames(rules, "names");
    const TensorReference opened = open_reference(
        dir_ / "ref.safetensors", renames,
        [](const std::string& name) { return name.starts_with("in/") ? "inputs" : ""; });
    return compare_tensors(results, opened, renames, Tolerances(tolerances));
  }
  Verdict verdict(const HostTensor& got, const HostTensor& expected) {
    return compare({{"out", got}}, {{"out", expected}}).tensors.at(0).verdict;
  }
  TempDir dir_;
};

TEST_F(CompareTensors, DifferencesAreMeasuredByTheLargestElement) {
  const HostTensor expected({3}, {1.0f, -100.0f, 0.0f}), got({3}, {1.0f, -100.0f, 0.5f});
  const ComparedTensor row = compare({{"out", got}}, {{"out", expected}}).tensors.at(0);
  EXPECT_EQ(row.max_abs, 0.5);
  EXPECT_EQ(row.max_rel, 0.005);
  EXPECT_EQ(row.verdict, Verdict::kDiffers);
  const auto with = [&](const std::vector<std::string>& tolerances) {
    return compare({{"out", got}}, {{"out", expected}}, "", tolerances).agrees();
  };
  EXPECT_TRUE(with({"0.005"}));
  EXPECT_FALSE(with({"0.0049"}));
  EXPECT_TRUE(with({"0", "o*=0.1"}));
  EXPECT_FALSE(with({"0", "in/**=0.1"}));
  EXPECT_FALSE(with({"o*=0.1", "0"}));  // the last one counts
}

TEST_F(CompareTensors, NansAndInfinitiesAgreeOnlyWithThemselves) {
  const auto one = [](float x) { return HostTensor::scalar(x); };
  EXPECT_EQ(verdict(one(kNan), one(kNan)), Verdict::kAgrees);
  EXPECT_EQ(verdict(one(kInf), one(kInf)), Verdict::kAgrees);
  EXPECT_EQ(verdict(one(-kInf), one(kInf)), Verdict::kDiffers);
  EXPECT_EQ(verdict(one(kNan), one(1)), Verdict::kDiffers);
  EXPECT_EQ(verdict(one(1), one(kNan)), Verdict::kDiffers);
  EXPECT_EQ(verdict(one(0), one(0)), Verdict::kAgrees);
  EXPECT_EQ(verdict(one(1e-30f), one(0)), Verdict::kDiffers);
  EXPECT_EQ(verdict(HostTensor(Type{DType::kF32, {0}}), HostTensor(Type{DType::kF32, {0}})),
            Verdict::kAgrees);
}

TEST_F(CompareTensors, IntegersAgreeWhereTheyAreEqual) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  const auto row = [&](auto got, auto expected) {
    return compare({{"out", HostTensor::scalar(got)}}, {{"out", HostTensor::scalar(expected)}}, "",
                   {"0.5"})
        .tensors.at(0);
  };
  const int64_t large = (int64_t{1} << 53) + 1;  // the first integer that no double can hold
  EXPECT_EQ(row(large, large - 1).verdict, Verdict::kDiffers);
  EXPECT_EQ(row(large, large - 1).max_abs, 1);
  EXPECT_EQ(row(large, large).verdict, Verdict::kAgrees);
  EXPECT_EQ(row(large, static_cast<uint64_t>(large)).verdict, Verdict::kAgrees);
  EXPECT_EQ(row(~uint64_t{0}, ~uint64_t{0} - 2).max_abs, 2);
  EXPECT_EQ(row(~uint64_t{0}, int64_t{-1}).max_abs, std::ldexp(1.0, 64)) << "not the same bits";
  EXPECT_EQ(row(kLowest, kLowest + 1).max_abs, 1);
  EXPECT_EQ(row(kLowest, -(kLowest + 1)).max_abs, std::ldexp(1.0, 64));
  EXPECT_EQ(row(int32_t{-1}, int64_t{1}).max_abs, 2);
  EXPECT_EQ(row(int32_t{1'000'000}, int32_t{1'000'001}).verdict, Verdict::kDiffers);
  EXPECT_EQ(row(int32_t{1'000'000}, 1'000'001.0f).verdict, Verdict::kAgrees) << "floats round";
}

TEST_F(CompareTensors, ShapesAndTypes) {
  EXPECT_EQ(verdict(HostTensor::ones({1}), HostTensor::scalar(1.0)), Verdict::kAgrees);
  EXPECT_EQ(verdict(HostTensor::ones({2}), HostTensor::ones({2, 1})), Verdict::kOtherShape);
  EXPECT_EQ(verdict(HostTensor::ones({2}), HostTensor::ones({2}, DType::kBF16)), Verdict::kAgrees);
}

// The bias of the keys has no influence on a softmax, so its gradient is noise on both sides.
TEST_F(CompareTensors, GradientsThatCancelAreMeasuredByTheLargest) {
  const Tree<HostTensor> reference = {{"grad/in/x", HostTensor::scalar(1.0f)},
                                      {"grad/params/b", HostTensor::scalar(1e-8f)}};
  Tree<HostTensor> results = reference;
  results.at("grad/params/b") = HostTensor::scalar(-1e-8f);
  EXPECT_TRUE(compare(results, reference).agrees());
  results.at("grad/params/b") = HostTensor::scalar(1e-4f);
  EXPECT_FALSE(compare(results, reference).agrees());
}

TEST_F(CompareTensors, NamesMayDifferOnBothSides) {
  const HostTensor one = HostTensor::ones({1});
  const TensorComparison c = compare(
      {{"out/loss", one}, {"grad/params/weight", one}, {"summaries/mine", one}, {"same", one}},
      {{"out", one},
       {"grad/params/kernel", one},
       {"grad/params/gone", one},
       {"in/x", one},
       {"same", one},
       {"module_outputs/theirs", one},
       {"extra", one}},
      "kernel -> weight\ngone -> none\n");
  std::vector<std::string> names;
  for (const ComparedTensor& t : c.tensors) names.push_back(t.name);
  EXPECT_THAT(names, ElementsAre("extra", "grad/params/kernel", "out", "same"));
  EXPECT_FALSE(c.agrees());
  EXPECT_THAT(c.summary(), HasSubstr("ref.safetensors: expected 4 tensors to agree, got 1 missing "
                                     "(extra)"));
  EXPECT_THAT(c.only_in_results, ElementsAre("summaries/mine"));
  EXPECT_THAT(
      c.not_compared,
      ElementsAre("inputs (1)", "values that the reference's layers record and Axle's do not (1)"));
  const std::string text = to_text(c);
  EXPECT_THAT(text, HasSubstr("extra               f32[1]  -        -        1e-05      missing"));
  EXPECT_THAT(text, HasSubstr("not in the reference: 1 (summaries/mine)"));
  const auto json = to_json(c);
  EXPECT_EQ(json["tensors"][0]["max_abs"], nullptr);
  EXPECT_EQ(json["tensors"][1]["verdict"], "ok");
}

TEST_F(CompareTensors, Mistakes) {
  for (const char* text : {"nan", "inf", "-1", "one", "", "out=", "out=nan", "1e400"}) {
    EXPECT_THAT(error_of([&] { Tolerances({text}); }), HasSubstr("--tolerance: expected ")) << text;
  }
  EXPECT_THAT(error_of([&] {
                compare({{"out", HostTensor()}}, {{"in/x", HostTensor()}});
              }),
              HasSubstr("ref.safetensors: expected results to compare with, got none"));
  EXPECT_THAT(error_of([&] {
                compare({{"out", HostTensor()}}, {{"summaries/x", HostTensor()}});
              }),
              HasSubstr("ref.safetensors: expected results to compare with (out, ...), got none"));
}

}  // namespace
}  // namespace axle
