#include "functions/function.h"

#include <gtest/gtest.h>

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
