// Numbers of JAX 0.10 on CPU, and what vmap does to keys of rbg.
#include "base/error.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using random::PrngScope;
using random::ThreefryMode;
using testing::run;

HostTensor rbg_draw(const HostTensor& key, const std::function<Tensor(const Key&)>& sampler,
                    PrngImpl impl = PrngImpl::kRbg) {
  return run([&](const Values& v) { return sampler(Key::wrap(v[0], impl)); }, {key});
}

template <class... T>
HostTensor rbg_words(Shape shape, T... values) {
  return HostTensor(std::move(shape), {static_cast<uint32_t>(values)...});
}

const HostTensor kKey = random::key_words(5, PrngImpl::kRbg);

TEST(Rbg, AKeyIsTwoKeysOfThreefry) {
  EXPECT_EQ(kKey, rbg_words({4}, 0, 5, 0, 5));
  EXPECT_EQ(random::key_words(-1, PrngImpl::kUnsafeRbg), rbg_words({4}, 0, ~0u, 0, ~0u));
}

// jax.random.bits(jax.random.key(5, impl="rbg"), (9,)) and (3,), "uint64"
TEST(Rbg, Bits) {
  EXPECT_EQ(rbg_draw(kKey, [](const Key& k) { return random::bits(k, 32, {9}); }),
            rbg_words({9}, 1612232000, 3369602501, 1197273755, 1864225075, 4222859655, 1997686851,
                      349328125, 2793783646, 1152632620));
  EXPECT_EQ(rbg_draw(kKey, [](const Key& k) { return random::bits(k, 64, {3}); }),
            HostTensor({3}, {uint64_t{14472332543927039296u}, uint64_t{8006785730705420955u},
                             uint64_t{8579999696917084551u}}));
}

// jax.random.bits(wrap_key_data([1, 2, 2^32 - 2, 2^32 - 1], impl="rbg"), (13,)): the counter
// carries into its upper half.
TEST(Rbg, TheCounterHas128Bits) {
  EXPECT_EQ(
      rbg_draw(rbg_words({4}, 1, 2, 0xfffffffe, 0xffffffff),
               [](const Key& k) { return random::bits(k, 32, {13}); }),
      rbg_words({13}, 2440199171, 2734589407, 1297845474, 626431447, 875035680, 2457449792,
                952865925, 536199321, 67759320, 265751716, 222428074, 2049345928, 2818318232));
}

TEST(Rbg, HalvesAreSplitByThreefry) {
  const HostTensor key = rbg_words({4}, 0, 1701, 0, 42);
  const auto split = [](const Key& k) { return random::split(k, 3).data(); };
  const auto fold = [](const Key& k) { return random::fold_in(k, 7).data(); };
  for (const ThreefryMode mode : {ThreefryMode::kPartitionable, ThreefryMode::kOriginal}) {
    const PrngScope scope({.threefry = mode});
    const HostTensor keys = rbg_draw(key, split), child = rbg_draw(key, fold);
    for (const int64_t half : {0, 1}) {
      const HostTensor own = random::key_words(half == 0 ? 1701 : 42);
      const HostTensor expected = rbg_draw(own, split, PrngImpl::kThreefry2x32),
                       folded = rbg_draw(own, fold, PrngImpl::kThreefry2x32);
      for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ(keys.at(4 * (i / 2) + 2 * half + i % 2), expected.at(i));
      for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(child.at(2 * half + i), folded.at(i));
    }
  }
}

// jax.random.split(jax.random.key(5, impl="unsafe_rbg"), 3) and fold_in(.., 9)
TEST(Rbg, UnsafeKeysAreSplitByTheGenerator) {
  const PrngImpl unsafe = PrngImpl::kUnsafeRbg;
  EXPECT_EQ(
      rbg_draw(
          kKey, [](const Key& k) { return random::split(k, 3).data(); }, unsafe),
      rbg_words({3, 4}, 1612232000, 3369602501, 1197273755, 1864225075, 3739331121, 2239189395,
                1258670070, 2509022470, 1368582595, 953584772, 3887943633, 2448538948));
  EXPECT_EQ(rbg_draw(
                kKey, [](const Key& k) { return random::fold_in(k, 9).data(); }, unsafe),
            rbg_words({4}, 1300080329, 138944922, 2151969553, 3341033586));
}

TEST(Rbg, WrongTypesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(1, PrngImpl::kRbg);
  EXPECT_THROW(rng_bit_generator(zeros({2}, DType::kU32), {3}), ShapeError);
  EXPECT_THROW(rng_bit_generator(zeros({4}, DType::kI32), {3}), ShapeError);
  EXPECT_THROW(rng_bit_generator(key.data(), {3}, DType::kF32), ShapeError);
  EXPECT_THROW(random::bits(key, {3}, DType::kI32), ShapeError);
}

}  // namespace
}  // namespace axle
