#include "ir/call_site.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "ir/tensor.h"

namespace axle {
namespace {

std::string here(int line) { return fmt::format("src/ir/call_site_test.cpp:{}", line); }

constexpr int kLineOfInner = __LINE__ + 1;
const CallSite* inner() { return current_call_site(); }

TEST(CallSite, NamesTheLineOfTheInnermostCallInTheUsersCode) {
  EXPECT_EQ(source_line(current_call_site()), here(__LINE__));
  // The caller of a user's function is not named.
  EXPECT_EQ(source_line(inner()), here(kLineOfInner));
  EXPECT_EQ(source_line(nullptr), "");
}

TEST(CallSite, EqualCallsAreOneObject) {
  std::vector<const CallSite*> of_loop, of_threads(2);
  for (int i = 0; i < 2; ++i) of_loop.push_back(current_call_site());
  EXPECT_EQ(of_loop[0], of_loop[1]);
  EXPECT_NE(of_loop[0], current_call_site());
  for (const CallSite*& calls : of_threads) {
    std::thread([&] { calls = current_call_site(); }).join();
  }
  EXPECT_EQ(of_threads[0], of_threads[1]);
}

TEST(CallSite, AScopeReplacesTheStack) {
  const int line = __LINE__ + 1;
  const CallSite* const calls = current_call_site();
  const CallSiteScope scope(calls);
  EXPECT_EQ(source_line(current_call_site()), here(line));
  {
    const CallSiteScope stack(nullptr);
    EXPECT_EQ(source_line(current_call_site()), here(__LINE__));
  }
  EXPECT_EQ(current_call_site(), calls);
}

constexpr int kLineOfNested = __LINE__ + 1;
const CallSite* nested(int depth) { return depth == 0 ? current_call_site() : nested(depth - 1); }

TEST(CallSite, KeepsTheInnermostCallsOfADeepStack) {
  const CallSite* const calls = nested(1000);
  EXPECT_EQ(calls->depth, CallSite::kMaxDepth);
  EXPECT_EQ(source_line(calls), here(kLineOfNested));
}

TEST(CallSite, ParametersKnowWhereTheirTraceStarts) {
  Region region;
  const int line = __LINE__ + 1;
  const Tensor x = region.add_parameter({DType::kF32, {2}}, "x");
  EXPECT_EQ(describe(x), fmt::format("f32[2] of x (parameter at {})", here(line)));
}

}  // namespace
}  // namespace axle
