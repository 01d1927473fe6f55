#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "comparison/eval_op.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor op_numbers(std::initializer_list<float> values) {
  return HostTensor({std::ssize(values)}, values);
}

TEST(OpResults, AreSortedByNumber) {
  Tree<HostTensor> results;
  for (int i = 0; i < 12; ++i) results.emplace(fmt::format("a/out{}", i), op_numbers({1}));
  std::vector<std::string> names, expected;
  const auto json = to_json(OpResults{.tensors = results});
  for (const auto& row : json["results"]) names.push_back(row["name"]);
  for (int i = 0; i < 12; ++i) expected.push_back(fmt::format("a/out{}", i));
  EXPECT_EQ(names, expected);
  const std::string text = to_text(OpResults{.tensors = results});
  EXPECT_LT(text.find("a/out2 "), text.find("a/out10 "));
}

class CompareOp : public ::testing::Test {
 protected:
  OpReport compare(const std::string& yaml, const Tree<HostTensor>& results,
                   const Tree<HostTensor>& reference) {
    replace_file(dir_ / "case.yaml", yaml);
    const OpCases file = read_op_cases(dir_ / "case.yaml");
    save_safetensors(dir_ / "reference.safetensors", reference);
    OpReport report;
    compare_op(file.cases.at(0), results, SafetensorsFile(dir_ / "reference.safetensors"),
               {.largest = 1e-5}, report.comparison);
    return report;
  }
  TempDir dir_;
};

TEST_F(CompareOp, ReadsOnlyTheResultsOfTheCase) {
  const Tree<HostTensor> results = {{"out0", op_numbers({1})}, {"out1", op_numbers({2})}};
  const OpReport report = compare("{name: a, function: neg}", results,
                                  {{"a/out0", op_numbers({1})},
                                   {"b/out0", op_numbers({9})},
                                   {"a/in0", op_numbers({9})},
                                   {"a/grad0", op_numbers({9})}});
  ASSERT_EQ(report.comparison.tensors.size(), 1u);
  EXPECT_TRUE(report.agrees());
  EXPECT_EQ(report.comparison.only_in_results, std::vector<std::string>{"a/out1"});
}

TEST_F(CompareOp, TensorsAreInTheOrderOfTheirNumbers) {
  Tree<HostTensor> results;
  for (const char* name : {"out10", "out2", "out1"}) results.emplace(name, op_numbers({1}));
  const OpReport report = compare("function: neg", results, results);
  std::vector<std::string> names;
  for (const ComparedTensor& t : report.comparison.tensors) names.push_back(t.name);
  EXPECT_THAT(names, ElementsAre("out1", "out2", "out10"));
}

TEST_F(CompareOp, DifferencesNameTheElement) {
  const OpReport report =
      compare("{function: neg, tolerance: bitwise}", {{"out0", op_numbers({1, 2})}},
              {{"out0", op_numbers({1, 2.5f})}});
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(to_text(report), HasSubstr("bitwise    differs at [1]: 2 instead of 2.5"));
}

TEST_F(CompareOp, ExpectedNamesAndMissingResults) {
  EXPECT_TRUE(compare("{function: neg, expected: theirs}", {{"out0", op_numbers({1})}},
                      {{"theirs", op_numbers({1})}})
                  .agrees());
  EXPECT_FALSE(compare("function: neg", {{"out0", op_numbers({1})}},
                       {{"out0", op_numbers({1})}, {"out1", op_numbers({1})}})
                   .agrees());
  EXPECT_THAT(error_of([&] {
                compare("{function: neg, expected: thiers}", {{"out0", op_numbers({1})}},
                        {{"theirs", op_numbers({1})}});
              }),
              HasSubstr("expected: no such tensor in the reference: thiers"));
  EXPECT_THAT(error_of([&] {
                compare("function: neg", {{"out0", op_numbers({1})}}, {{"x", op_numbers({1})}});
              }),
              HasSubstr("expected out0 in the reference, got none"));
}

}  // namespace
}  // namespace axle
