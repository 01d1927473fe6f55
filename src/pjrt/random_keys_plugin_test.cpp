// Law: a plugin draws what the interpreter draws, for every kind of key, and in loops. What each
// sampler draws from keys of threefry is compared in samplers_plugin_test.cpp.
#include "ops/create.h"
#include "ops/random/random.h"
#include "ops/random/rbg.h"
#include "testing/plugin_fixture.h"
#include "transform/random/counts.h"
#include "transform/random/gamma.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using random::PrngImpl;
using random::PrngScope;
using random::ThreefryMode;

class RandomKeys : public PluginTest {};

Values keys_and_bits(const Values& v) {
  const Tensor& key = v[0];
  Values out = {random::split(key, 5), random::fold_in(key, 5), random::permutation(key, 20)};
  for (const DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    out.push_back(random::bits(key, {3, 7}, dtype));
    out.push_back(random::bits(key, {0}, dtype));
  }
  out.push_back(vmap([](const Values& k) { return Values{random::uniform(k[0], {5})}; },
                     {random::split(key, 3)})[0]);
  return out;
}

TEST_F(RandomKeys, OfAllKindsGiveTheSameBits) {
  const auto check = [&](PrngImpl impl, ThreefryMode mode) {
    const PrngScope scope({.threefry = mode, .wide_keys = impl});
    const std::vector<HostTensor> key = {random::key(7, impl)};
    EXPECT_EQ(run(keys_and_bits, key), eval(keys_and_bits, key)) << static_cast<int>(impl);
  };
  check(PrngImpl::kThreefry2x32, ThreefryMode::kPartitionable);
  check(PrngImpl::kThreefry2x32, ThreefryMode::kOriginal);
  check(PrngImpl::kRbg, ThreefryMode::kPartitionable);
  check(PrngImpl::kUnsafeRbg, ThreefryMode::kPartitionable);
}

TEST_F(RandomKeys, OfThePlatformCountWith128Bits) {
  const TensorFunction fn = [](const Values& v) {
    return Values{rng_bit_generator(v[0], {37}), rng_bit_generator(v[0], {37}, DType::kU64)};
  };
  const std::vector<HostTensor> key = {HostTensor({4}, {1u, 2u, 0xfffffffeu, 0xffffffffu})};
  EXPECT_EQ(run(fn, key), eval(fn, key));
}

TEST_F(RandomKeys, DrawTheSameInLoops) {
  const TensorFunction floats = [](const Values& v) {
    return Values{random::gamma(v[0], {30}, scalar(0.7)),
                  random::loggamma(v[0], {30}, scalar(2.5))};
  };
  const TensorFunction counts = [](const Values& v) {
    return Values{random::poisson(v[0], {2}, constant(HostTensor({2}, {4.f, 40.f}))),
                  random::multinomial(v[0], {5}, scalar(60), full({3}, 1. / 3))};
  };
  for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg}) {
    const std::vector<HostTensor> key = {random::key(7, impl)};
    expect_same(floats, key, 1e-5);
    EXPECT_EQ(run(counts, key), eval(counts, key));
  }
}

}  // namespace
}  // namespace axle
