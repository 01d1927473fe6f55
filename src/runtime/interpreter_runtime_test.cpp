#include "runtime/interpreter_runtime.h"

#include <gtest/gtest.h>

#include "ops/elementwise/elementwise.h"
#include "testing/error_of.h"
#include "transform/trace.h"

namespace axle {
namespace {

const Type kPair{DType::kF32, {2}};

/// Returns a program of x + y and x * y. x is donated to the first result.
Program sum_and_product() {
  const auto graph = trace(
      [](const Values& x) {
        return Values{x[0] + x[1], x[0] * x[1]};
      },
      {kPair, kPair});
  return {.name = "both",
          .graph = graph,
          .inputs = {{.name = "x", .type = kPair, .donated_to = 0}, {.name = "y", .type = kPair}},
          .outputs = {{.name = "sum", .type = kPair}, {.name = "product", .type = kPair}}};
}

class InterpreterRuntimeTest : public ::testing::Test {
 protected:
  ArrayPtr put(const HostTensor& value) { return runtime_->make_array(value, {}, {}); }
  std::unique_ptr<Runtime> runtime_ = std::make_unique<InterpreterRuntime>(8);
};

TEST_F(InterpreterRuntimeTest, RunsTheGraph) {
  auto program = runtime_->compile(sum_and_product());
  const Arrays arguments = {put(HostTensor({2}, {1.f, 2.f})), put(HostTensor({2}, {3.f, 5.f}))};
  const auto results = program->execute(arguments);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]->to_host(), HostTensor({2}, {4.f, 7.f}));
  EXPECT_EQ(results[1]->to_host(), HostTensor({2}, {3.f, 10.f}));
  EXPECT_EQ(arguments[1]->to_host(), HostTensor({2}, {3.f, 5.f}));
}

TEST_F(InterpreterRuntimeTest, DonatedInputsCannotBeUsed) {
  auto program = runtime_->compile(sum_and_product());
  const Arrays arguments = {put(HostTensor::ones({2})), put(HostTensor::ones({2}))};
  program->execute(arguments);
  const std::string message =
      "array f32[2]: expected a value, got one that was donated to program 'both'; use its result";
  EXPECT_EQ(error_of<DeviceError>([&] { arguments[0]->to_host(); }), message);
  EXPECT_EQ(error_of<DeviceError>([&] { program->execute(arguments); }), message);
}

TEST_F(InterpreterRuntimeTest, RefusesArgumentsThatDoNotFit) {
  auto program = runtime_->compile(sum_and_product());
  const auto one = put(HostTensor::ones({2}));
  const auto execute = [&](Arrays arguments) {
    return error_of<ShapeError>([&] { program->execute(arguments); });
  };
  EXPECT_EQ(execute({one}), "program 'both': expected 2 arguments, got 1");
  EXPECT_EQ(execute({one, put(HostTensor::ones({3}))}),
            "program 'both', argument 1 'y': expected f32[2], got f32[3]");
  EXPECT_EQ(execute({one, one}),
            "program 'both', argument 1 'y': expected a donated array as one argument, got it also "
            "as 'x'");
  EXPECT_EQ(one->to_host(), HostTensor::ones({2}));  // nothing was taken
}

TEST_F(InterpreterRuntimeTest, ShardingsAreCheckedAsOnDevices) {
  EXPECT_EQ(runtime_->topology().devices.size(), 8u);
  const Mesh mesh{{{"data", 4}}};
  EXPECT_EQ(runtime_->make_array(HostTensor::ones({8}), {{{"data"}}}, mesh)->to_host(),
            HostTensor::ones({8}));
  EXPECT_THROW(runtime_->make_array(HostTensor::ones({6}), {{{"data"}}}, mesh), ConfigError);
}

TEST_F(InterpreterRuntimeTest, TakesNoCompilerOptions) {
  EXPECT_EQ(error_of([&] {
              runtime_->compile(sum_and_product(), {.overrides = {{"xla_some_flag", "1"}}});
            }),
            "compiler_options.xla_some_flag: expected none for the interpreter, which has no "
            "compiler");
}

TEST_F(InterpreterRuntimeTest, UnsupportedCallsAreErrors) {
  Program text_only = sum_and_product();
  text_only.graph = nullptr;
  EXPECT_EQ(error_of<DeviceError>([&] { runtime_->compile(text_only); }),
            "program 'both': the interpreter expects a traced graph, got StableHLO text alone");
  auto program = runtime_->compile(sum_and_product());
  EXPECT_THROW(program->serialize(), DeviceError);
  EXPECT_THROW(runtime_->load("", sum_and_product()), DeviceError);
}

TEST_F(InterpreterRuntimeTest, EstimatesTheMemoryOfACall) {
  const auto of_both = runtime_->compile(sum_and_product())->memory();
  ASSERT_TRUE(of_both);
  EXPECT_EQ(of_both->argument_bytes, 16);
  EXPECT_EQ(of_both->output_bytes, 16);
  EXPECT_EQ(of_both->alias_bytes, 8);
  EXPECT_EQ(of_both->temporary_bytes,
            16);  // a copy of y, and x + y, which does not really reuse the memory of x

  // A value is freed after its last use.
  const auto temporaries = [&](const auto& body) {
    const Program program{
        .name = "chain",
        .graph = trace([&](const Values& x) { return Values{body(x[0])}; }, {kPair}),
        .inputs = {{.name = "x", .type = kPair}},
        .outputs = {{.name = "y", .type = kPair}}};
    return runtime_->compile(program)->memory()->temporary_bytes;
  };
  const auto chain = [](int64_t length) {
    return [length](Tensor x) {
      for (int64_t i = 0; i < length; ++i) x = x + x;
      return x;
    };
  };
  EXPECT_EQ(temporaries(chain(2)), 8);
  EXPECT_EQ(temporaries(chain(20)), temporaries(chain(2)));
  EXPECT_EQ(temporaries([&](const Tensor& x) { return x + chain(20)(x); }), 16);
}

}  // namespace
}  // namespace axle
