#include <gmock/gmock.h>

#include "base/error.h"
#include "lower/stablehlo.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "runtime/interpreter_runtime.h"
#include "train/program/non_finite.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// A step that returns w + log(x), with a key that it replaces.
Program step() {
  const Type two{DType::kF32, {2}}, key{DType::kU32, {2}};
  const std::vector<ProgramValue> inputs = {{"model/w", two}, {"prng_key", key}, {"x", two}};
  const std::vector<ProgramValue> outputs = {{"model/w", two}, {"prng_key", key}};
  return trace_program(
      "step",
      [](const Values& v) {
        const NameScope scope("model");
        return Values{v[0] + log(v[2]), v[1] + full({2}, 1.0, DType::kU32)};
      },
      inputs, outputs);
}

// Returns what the finder reports last for a step 3.
std::string last_note(const NonFiniteFinder& finder) {
  std::vector<std::string> notes;
  finder.report(3, false, [&](const std::string& note) { notes.push_back(note); });
  EXPECT_EQ(notes.size(), 2u) << "that the search begins, then what it found";
  return notes.back();
}

struct FinderTest : ::testing::Test {
  // Returns the report for a step with this batch.
  std::string found(const HostTensor& x) {
    NonFiniteFinder finder(program, runtime, {});
    const auto array = [&](const HostTensor& value) { return runtime.make_array(value, {}, {}); };
    finder.remember(
        {array(HostTensor({2}, {1.0f, 2.0f})), array(HostTensor({2}, {1u, 2u})), array(x)});
    return last_note(finder);
  }
  InterpreterRuntime runtime{1};
  Program program = step();
};

TEST_F(FinderTest, NamesTheOpAndItsOperands) {
  const std::string report = found(HostTensor({2}, {1.0f, -1.0f}));
  EXPECT_THAT(report, HasSubstr("log"));
  EXPECT_THAT(report, HasSubstr("model"));
}

TEST_F(FinderTest, SaysThatNothingWasFound) {
  EXPECT_EQ(found(HostTensor({2}, {1.0f, 2.0f})),
            "step 3: no op was found: all numbers were finite when the step ran once more");
}

// The runtime refuses every program of the search.
class Refusing final : public Runtime {
 public:
  const Topology& topology() const override { return inner_.topology(); }
  std::unique_ptr<Executable> compile(const Program&, const CompileOptions&) override {
    throw DeviceError("out of memory");
  }
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& p) override {
    return inner_.load(serialized, p);
  }
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override {
    return inner_.make_array(value, sharding, mesh);
  }

 private:
  InterpreterRuntime inner_{1};
};

TEST_F(FinderTest, ASearchThatFailsSaysWhy) {
  Refusing refusing;
  NonFiniteFinder finder(program, refusing, {});
  const auto two = refusing.make_array(HostTensor({2}, {1.0f, 2.0f}), {}, {});
  const auto key = refusing.make_array(HostTensor({2}, {1u, 2u}), {}, {});
  finder.remember({two, key, two});
  EXPECT_EQ(last_note(finder), "step 3: no op was found, since the search failed: out of memory");
}

TEST(NonFiniteFinder, NeedsAStepThatDonatesNothing) {
  Program program = step();
  program.inputs[1].donated_to = 1;
  InterpreterRuntime runtime(1);
  EXPECT_THROW(NonFiniteFinder(program, runtime, {}), InternalError);
}

}  // namespace
}  // namespace axle
