// Law: a plugin draws what the interpreter draws, for every kind of key, and in loops. What each
// sampler draws from keys of threefry is compared in samplers_plugin_test.cpp.
#include "ops/create.h"
#include "ops/random/random.h"
#include "testing/plugin_fixture.h"
#include "transform/random/samplers.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using random::PrngScope;
using random::ThreefryMode;

class RandomKeys : public PluginTest {};

Values keys_and_bits(const Key& key) {
  Values out = {random::split(key, 5).data(), random::fold_in(key, 5).data(),
                random::permutation(key, 20)};
  for (const DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    out.push_back(random::bits(key, {3, 7}, dtype));
    out.push_back(random::bits(key, {0}, dtype));
  }
  out.push_back(vmap(
      [&](const Values& k) { return Values{random::uniform(Key::wrap(k[0], key.impl()), {5})}; },
      {random::split(key, 3).data()})[0]);
  return out;
}

TEST_F(RandomKeys, KeysOfAllKindsDrawTheSameBits) {
  const auto check = [&](PrngImpl impl, ThreefryMode mode) {
    const PrngScope scope({.threefry = mode});
    const TensorFunction fn = [=](const Values& v) { return keys_and_bits(Key::wrap(v[0], impl)); };
    const std::vector<HostTensor> key = {random::key_words(7, impl)};
    EXPECT_EQ(run(fn, key), eval(fn, key)) << static_cast<int>(impl);
  };
  check(PrngImpl::kThreefry2x32, ThreefryMode::kPartitionable);
  check(PrngImpl::kThreefry2x32, ThreefryMode::kOriginal);
  check(PrngImpl::kRbg, ThreefryMode::kPartitionable);
  check(PrngImpl::kUnsafeRbg, ThreefryMode::kPartitionable);
}

TEST_F(RandomKeys, PlatformGeneratorCountsWith128Bits) {
  const TensorFunction fn = [](const Values& v) {
    return Values{rng_bit_generator(v[0], {37}), rng_bit_generator(v[0], {37}, DType::kU64)};
  };
  const std::vector<HostTensor> key = {HostTensor({4}, {1u, 2u, 0xfffffffeu, 0xffffffffu})};
  EXPECT_EQ(run(fn, key), eval(fn, key));
}

TEST_F(RandomKeys, DrawTheSameInLoops) {
  for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg}) {
    const TensorFunction floats = [impl](const Values& v) {
      const auto own = Key::wrap(v[0], impl);
      return Values{random::gamma(own, {30}, scalar(0.7)),
                    random::loggamma(own, {30}, scalar(2.5))};
    };
    const TensorFunction counts = [impl](const Values& v) {
      const auto own = Key::wrap(v[0], impl);
      return Values{random::poisson(own, {2}, constant(HostTensor({2}, {4.f, 40.f}))),
                    random::multinomial(own, {5}, scalar(60), full({3}, 1. / 3))};
    };
    const std::vector<HostTensor> key = {random::key_words(7, impl)};
    expect_same(floats, key, 1e-5);
    EXPECT_EQ(run(counts, key), eval(counts, key));
  }
}

}  // namespace
}  // namespace axle
