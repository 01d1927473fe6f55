#include <gmock/gmock.h>

#include <limits>

#include "runtime/interpreter_runtime.h"
#include "train/program/non_finite.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Two parameters with the learner's values for them, a value of a layer, and integers.
const std::vector<ProgramValue> kState = {{"learner/count", {DType::kI32, {}}},
                                          {"learner/optimizer/m/model/a", {DType::kF32, {2}}},
                                          {"learner/optimizer/m/model/b", {DType::kF32, {2}}},
                                          {"learner/scale", {DType::kF32, {}}},
                                          {"model/a", {DType::kF32, {2}}},
                                          {"model/b", {DType::kF32, {2}}},
                                          {"prng_key", {DType::kU32, {2}}},
                                          {"state/model/mean", {DType::kF32, {1}}}};

Tree<HostTensor> zeros() {
  Tree<HostTensor> out;
  for (const ProgramValue& leaf : kState) out.emplace(leaf.name, HostTensor(leaf.type));
  return out;
}

// Returns the index of the first bad part of a state; -1 if all is finite.
double first_bad(const Tree<HostTensor>& state) {
  const FiniteState finite(kState);
  std::vector<HostTensor> values;
  for (const auto& [path, value] : state) values.push_back(value);
  const auto out = eval(
      [&](const Values& v) {
        Tree<Tensor> tree;
        size_t i = 0;
        for (const auto& [path, value] : state) tree.emplace(path, v[i++]);
        return Values{finite.first_non_finite(tree)};
      },
      values);
  EXPECT_EQ(out[0].type(), (Type{DType::kI32, {}}));
  return out[0].at(0);
}
double first_bad_with(const std::string& path, float value) {
  Tree<HostTensor> state = zeros();
  state.at(path) = HostTensor::full(state.at(path).shape(), value);
  return first_bad(state);
}

TEST(FiniteState, APartIsAParameterWithWhatIsKeptForIt) {
  EXPECT_THAT(FiniteState(kState).groups(),
              ElementsAre("learner/scale", "model/a", "model/b", "state/model/mean"));
}

TEST(FiniteState, NamesThePartOfEachLeaf) {
  EXPECT_EQ(first_bad(zeros()), -1);
  EXPECT_EQ(first_bad_with("learner/scale", kNan), 0);
  EXPECT_EQ(first_bad_with("model/a", kInf), 1);
  EXPECT_EQ(first_bad_with("learner/optimizer/m/model/a", -kInf), 1);
  EXPECT_EQ(first_bad_with("learner/optimizer/m/model/b", kNan), 2);
  EXPECT_EQ(first_bad_with("state/model/mean", kNan), 3);
  EXPECT_EQ(first_bad_with("model/b", std::numeric_limits<float>::max()), -1);
}

TEST(FiniteState, TheFirstOfSeveralIsNamed) {
  Tree<HostTensor> state = zeros();
  state.at("state/model/mean") = HostTensor({1}, {kNan});
  state.at("model/b") = HostTensor({2}, {0.0f, kInf});
  EXPECT_EQ(first_bad(state), 2);
}

TEST(FirstNotFinite, NamesTheLeafOfAStateOnDevices) {
  InterpreterRuntime runtime(1);
  Tree<HostTensor> values = zeros();
  const auto first = [&] {
    DeviceState state{.leaves = kState, .arrays = {}};
    for (const auto& [path, value] : values)
      state.arrays.push_back(runtime.make_array(value, {}, {}));
    return first_non_finite(state);
  };
  EXPECT_EQ(first(), std::nullopt);
  values.at("model/b") = HostTensor({2}, {1.0f, kNan});
  EXPECT_EQ(first(), "model/b");
  values.at("learner/optimizer/m/model/b") = HostTensor({2}, {kInf, 0.0f});
  EXPECT_EQ(first(), "learner/optimizer/m/model/b") << "the leaf itself, not its part";
}

}  // namespace
}  // namespace axle
