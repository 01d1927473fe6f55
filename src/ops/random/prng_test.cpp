// The original mode of threefry: numbers of JAX 0.10 with jax_threefry_partitionable off.
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
using testing::elements;
using ::testing::ElementsAre;

HostTensor draw(const std::function<Tensor(const Key&)>& sampler) {
  const PrngScope scope({.threefry = ThreefryMode::kOriginal});
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0])); },
                      {random::key_words(1701)});
}

// jax.random.bits(jax.random.key(1701), (n,), dtype)
TEST(OriginalThreefry, Bits) {
  const auto bits = [](int64_t n, DType dtype) {
    return draw([=](const Key& k) { return random::bits(k, {n}, dtype); });
  };
  EXPECT_THAT(elements(bits(3, DType::kU8)), ElementsAre(216, 115, 43));
  EXPECT_THAT(elements(bits(5, DType::kU8)), ElementsAre(210, 162, 20, 5, 233));
  EXPECT_THAT(elements(bits(3, DType::kU16)), ElementsAre(41682, 1300, 55017));
  EXPECT_THAT(elements(bits(5, DType::kU16)), ElementsAre(32843, 857, 20328, 64090, 27775));
  EXPECT_THAT(elements(bits(3, DType::kU32)), ElementsAre(56197195, 4200222568, 961309823));
  EXPECT_THAT(elements(bits(5, DType::kU32)),
              ElementsAre(927208350, 3916705582, 3729489864, 676898860, 3164047411));
  EXPECT_EQ(bits(3, DType::kU64),
            HostTensor({3}, {uint64_t{3982329540505020460u}, uint64_t{16822122385914693683u},
                             uint64_t{7882654074788531506u}}));
  EXPECT_EQ(bits(0, DType::kU8).size(), 0);
}

TEST(OriginalThreefry, Keys) {
  EXPECT_THAT(elements(draw([](const Key& k) { return random::split(k, 3).data(); })),
              ElementsAre(927208350, 3916705582, 1835323421, 676898860, 3164047411, 4010691890));
  EXPECT_THAT(elements(draw([](const Key& k) { return random::fold_in(k, 7).data(); })),
              ElementsAre(33961628, 564353879));
}

TEST(OriginalThreefry, Samplers) {
  EXPECT_THAT(elements(draw([](const Key& k) { return random::uniform(k, {4}); })),
              ElementsAre(0.01308441162109375, 0.41934967041015625, 0.22382235527038574,
                          0.39694511890411377));
  EXPECT_THAT(elements(draw([](const Key& k) { return random::randint(k, {6}, 0, 100); })),
              ElementsAre(65, 80, 53, 92, 24, 48));
  EXPECT_THAT(elements(draw([](const Key& k) { return random::permutation(k, 8); })),
              ElementsAre(3, 0, 7, 6, 2, 4, 1, 5));
}

TEST(Prng, TheInnermostScopeCounts) {
  const auto mode = [] { return random::prng_options().threefry; };
  EXPECT_EQ(mode(), ThreefryMode::kPartitionable);
  {
    const PrngScope outer({.threefry = ThreefryMode::kOriginal});
    {
      const PrngScope inner({.wide_keys = PrngImpl::kUnsafeRbg});
      EXPECT_EQ(mode(), ThreefryMode::kPartitionable);
    }
    EXPECT_EQ(mode(), ThreefryMode::kOriginal);
  }
  EXPECT_EQ(mode(), ThreefryMode::kPartitionable);
}

TEST(Prng, GeneratorFollowsTheNumberOfWords) {
  Region region;
  const TraceScope trace(region);
  EXPECT_EQ(random::impl_of(zeros({2}, DType::kU32)), PrngImpl::kThreefry2x32);
  EXPECT_EQ(random::impl_of(zeros({4}, DType::kU32)), PrngImpl::kRbg);
  const PrngScope scope({.wide_keys = PrngImpl::kUnsafeRbg});
  EXPECT_EQ(random::impl_of(zeros({4}, DType::kU32)), PrngImpl::kUnsafeRbg);
  EXPECT_THROW(random::impl_of(zeros({3}, DType::kU32)), ShapeError);
}

}  // namespace
}  // namespace axle
