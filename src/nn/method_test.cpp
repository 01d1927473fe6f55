#include "nn/method.h"

#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "testing/error_of.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

struct Pair {
  Tensor a, b;
  template <class F>
  void each_field(F&& fn) {
    fn("a", a);
    fn("b", b);
  }
  static Pair read(InputReader& reader, const std::string& prefix) {
    return {reader.required(prefix + "/a"), reader.required(prefix + "/b")};
  }
};

constexpr std::string_view kNames[] = {"x", "scale", "more", "pair"};

Method example() {
  return method<Pair, const Tensor&, const std::optional<Tensor>&, const Tree<Tensor>&,
                const Pair&>("forward", kNames,
                             [](const Tensor& x, const std::optional<Tensor>& scale,
                                const Tree<Tensor>& more, const Pair& pair) {
                               Tensor sum = x + pair.a;
                               for (const auto& [name, t] : more) sum = sum + t;
                               return Pair{sum, scale ? pair.b * *scale : pair.b};
                             });
}

// Returns the results of the method for inputs 1, 2, 4, ... in the order of `names`.
std::vector<double> run(const std::vector<std::string>& names) {
  std::vector<HostTensor> arguments;
  float next = 1;
  for (size_t i = 0; i < names.size(); ++i) {
    arguments.push_back(HostTensor::scalar(next));
    next *= 2;
  }
  const auto y = eval(
      [&](const Values& x) {
        Tree<Tensor> inputs;
        for (size_t i = 0; i < names.size(); ++i) inputs.emplace(names[i], x[i]);
        InputReader reader(inputs);
        Values out;
        std::string named;
        for (const auto& [name, value] : example().call(reader)) {
          named += name;
          out.push_back(value);
        }
        EXPECT_EQ(named, "ab");
        reader.check_all_used();
        return out;
      },
      arguments);
  return {y[0].at(0), y[1].at(0)};
}

TEST(Method, ReadsEachKindOfArgumentByName) {
  EXPECT_THAT(example().inputs, ElementsAre("x", "scale", "more", "pair"));
  EXPECT_THAT(run({"x", "pair/a", "pair/b"}), ElementsAre(3, 4));
  EXPECT_THAT(run({"x", "pair/a", "pair/b", "scale"}), ElementsAre(3, 32));
  EXPECT_THAT(run({"x", "pair/a", "pair/b", "more/p", "more/q"}), ElementsAre(27, 4));
}

TEST(Method, NamesMissingAndExtraInputs) {
  EXPECT_EQ(error_of<DataError>([] {
              run({"x", "pair/a"});
            }),
            "in/pair/b: expected this input, got only in/pair/a, in/x");
  EXPECT_EQ(error_of<DataError>([] { run({}); }), "in/x: expected this input, got none");
  EXPECT_EQ(
      error_of([] {
        run({"x", "pair/a", "pair/b", "pair/c", "y"});
      }),
      "in/pair/c, in/y: not an input of this method; did you mean 'in/pair/a' or 'in/pair/b'?");
}

}  // namespace
}  // namespace axle
