// Arguments are bound to inputs by name, and every input needs exactly its own argument.
#include "runtime/arguments.h"

#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "ops/elementwise/elementwise.h"
#include "runtime/interpreter_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

const Type kNamedArgumentsPair{DType::kF32, {2}};

// Returns the program second - first, whose inputs are not in the order of their names.
Program difference() {
  return trace_program("difference", [](const Values& x) { return Values{x[1] - x[2]}; },
                       {{"bias", kNamedArgumentsPair},
                        {"second", kNamedArgumentsPair},
                        {"first", kNamedArgumentsPair}},
                       {{"out", kNamedArgumentsPair}});
}

class NamedArguments : public ::testing::Test {
 protected:
  HostTensor run(const Tree<HostTensor>& values) {
    Arrays arguments{runtime_->make_array(HostTensor::zeros({2}), {}, {})};
    append_by_name(arguments, values, program_, *runtime_);
    return runtime_->compile(program_)->execute(arguments)[0]->to_host();
  }
  const Program program_ = difference();
  const std::unique_ptr<Runtime> runtime_ = std::make_unique<InterpreterRuntime>(1);
};

TEST_F(NamedArguments, ArgumentsOfOneTypeAreNotSwapped) {
  EXPECT_EQ(run({{"first", HostTensor({2}, {1.f, 2.f})}, {"second", HostTensor({2}, {5.f, 7.f})}}),
            HostTensor({2}, {4.f, 5.f}));
}

TEST_F(NamedArguments, MissingAndWrongArgumentsAreNamed) {
  const HostTensor good = HostTensor::zeros({2});
  EXPECT_THAT(error_of<Error>([&] {
                run({{"first", good}});
              }),
              HasSubstr("program 'difference', input 'second': expected f32[2], got none"));
  EXPECT_THAT(error_of<Error>([&] {
                run({{"first", good}, {"second", HostTensor::zeros({3})}});
              }),
              HasSubstr("input 'second': expected f32[2], got f32[3]"));
  EXPECT_THAT(error_of<Error>([&] {
                run({{"first", good}, {"second", HostTensor::zeros({2}).astype(DType::kI32)}});
              }),
              HasSubstr("input 'second': expected f32[2], got i32[2]"));
  EXPECT_THAT(error_of<Error>([&] {
                run({{"first", good}, {"secnd", good}});
              }),
              HasSubstr("expected the inputs second, first, got 'secnd'; did you mean 'second'?"));
  // The name of an input that is bound already is refused.
  EXPECT_THAT(error_of<Error>([&] {
                run({{"bias", good}, {"first", good}, {"second", good}});
              }),
              HasSubstr("got 'bias'"));
}

}  // namespace
}  // namespace axle
