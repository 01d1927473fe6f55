#include "comparison/functions/function.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "ops/random/random.h"
#include "transform/trace.h"

namespace axle {
namespace {

using random::PrngImpl;
using random::PrngScope;

// Calls random::split(key, n=2), a function of the table, with these words.
HostTensor split_words(const HostTensor& words) {
  for (const Function& f : all_functions()) {
    if (f.name != "random::split") continue;
    return eval(
        [&](const Values& v) {
          return f.run({.operands = {{"key", {v[0]}}}});
        },
        {words})[0];
  }
  throw InternalError("no row of random::split");
}

TEST(FunctionTable, HasEveryOverloadOfEveryFunction) {
  std::map<std::string, int> rows;
  for (const Function& f : all_functions()) ++rows[f.name];
  EXPECT_GT(rows.size(), 200u);
  EXPECT_EQ(rows["add"], 3);                  // of tensors, and with a number on either side
  EXPECT_EQ(rows["convolution"], 2);          // adapters
  EXPECT_EQ(rows["random::permutation"], 2);  // in another namespace
  EXPECT_EQ(rows["orthogonal"], 0);
}

// Parameters have the order, the defaults and the texts of their declarations.
TEST(FunctionTable, SignaturesFollowFromDeclarations) {
  const auto text = [](std::string_view name) {
    for (const Function& f : all_functions()) {
      if (f.name == name) return f.text();
    }
    return std::string();
  };
  EXPECT_EQ(text("searchsorted"), "searchsorted(sorted, values, side: left|right = left)");
  EXPECT_EQ(text("standardize"), "standardize(x, axes: [int] = [-1], epsilon: number = 1e-5)");
  EXPECT_EQ(text("irfft"), "irfft(x, size: int|none = none, num_dims: int = 1)");
  EXPECT_EQ(text("max_pool"),
            "max_pool(x, window: [int] = default, strides: [int] = default, "
            "padding: valid|same|[[low, high]] = default)");
  // Operands come first where a parameter is a function.
  EXPECT_EQ(text("while_loop"), "while_loop(init..., condition: function, body: function)");
}

TEST(Function, KeyIsATensorOfWordsOfTheGeneratorInScope) {
  const auto expected = [](PrngImpl impl) {
    return eval(
        [=](const Values& v) {
          return Values{random::split(random::Key::wrap(v[0], impl)).data()};
        },
        {random::key_words(5, impl)})[0];
  };
  const HostTensor wide = random::key_words(5, PrngImpl::kRbg);
  EXPECT_EQ(split_words(random::key_words(5)), expected(PrngImpl::kThreefry2x32));
  EXPECT_EQ(split_words(wide), expected(PrngImpl::kRbg));
  EXPECT_NE(split_words(wide), expected(PrngImpl::kUnsafeRbg));
  const PrngScope scope({.wide_keys = PrngImpl::kUnsafeRbg});
  EXPECT_EQ(split_words(wide), expected(PrngImpl::kUnsafeRbg));
  EXPECT_THROW(split_words(HostTensor::zeros({4})), ShapeError);
}

}  // namespace
}  // namespace axle
