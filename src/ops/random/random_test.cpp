// Numbers from JAX's documentation, numbers of JAX for key(1701), and properties of distributions.
#include "ops/random/random.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "ops/random/random_part.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using random::Key;
using ::testing::DoubleNear;
using testing::elements;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pointwise;
using testing::run;

HostTensor random_draw(int64_t seed, const std::function<Tensor(const Key&)>& sampler) {
  return run([&](const Values& v) { return sampler(Key::wrap(v[0])); }, {random::key_words(seed)});
}

template <class... T>
HostTensor words(Shape shape, T... values) {
  return HostTensor(std::move(shape), {static_cast<uint32_t>(values)...});
}

TEST(Random, Keys) {
  EXPECT_EQ(random::key_words(42), words({2}, 0, 42));
  // JAX without x64: the lower 32 bits of the seed.
  EXPECT_EQ(random::key_words(-1), words({2}, 0, 0xffffffff));
  EXPECT_EQ(random::key_words(-5), words({2}, 0, 0xfffffffb));
  EXPECT_EQ(random::key_words(0xffffffff), words({2}, 0, 0xffffffff));
  EXPECT_EQ(random::key_words((int64_t{7} << 32) + 42), words({2}, 0, 42));
  EXPECT_EQ(random::key_words(-(int64_t{7} << 32) + 42), words({2}, 0, 42));
  EXPECT_EQ(random::key_words(std::numeric_limits<int64_t>::min()), words({2}, 0, 0));
  EXPECT_EQ(random::key_words(std::numeric_limits<int64_t>::max()), words({2}, 0, 0xffffffff));
  EXPECT_EQ(random::key_words(-1, random::PrngImpl::kRbg),
            words({4}, 0, 0xffffffff, 0, 0xffffffff));
  EXPECT_EQ(random_draw(0, [](const Key& k) { return random::split(k, 3).data(); }),
            words({3, 2}, 1797259609, 2579123966, 928981903, 3453687069, 4146024105, 2718843009));
  EXPECT_EQ(random_draw(42, [](const Key& k) { return random::split(k).data(); }),
            words({2, 2}, 1832780943, 270669613, 64467757, 2916123636));
  EXPECT_EQ(random_draw(42, [](const Key& k) { return random::split_each(k)[1].data(); }),
            words({2}, 64467757, 2916123636));
  EXPECT_EQ(random_draw(0, [](const Key& k) { return random::fold_in(k, 7).data(); }),
            words({2}, 2716826189, 292468403));
  EXPECT_EQ(random_draw(
                0, [](const Key& k) { return random::fold_in(k, scalar(7, DType::kI32)).data(); }),
            words({2}, 2716826189, 292468403));
  // All bits of a number count. A number that fits every dtype gives the same key in every dtype.
  const auto folded = [&](const Scalar& number, DType dtype) {
    return random_draw(
        0, [&](const Key& k) { return random::fold_in(k, scalar(number, dtype)).data(); });
  };
  for (const DType dtype : {DType::kI32, DType::kU32, DType::kI64, DType::kU64})
    EXPECT_EQ(folded(7, dtype), folded(7, DType::kU32)) << to_text(dtype);
  for (const DType dtype : {DType::kI64, DType::kU64}) {
    EXPECT_NE(folded((int64_t{1} << 32) + 7, dtype), folded(7, dtype)) << to_text(dtype);
    EXPECT_NE(folded((int64_t{1} << 62) + 7, dtype), folded((int64_t{1} << 32) + 7, dtype));
  }
}

TEST(Random, Bits) {
  const auto bits = [](int width) {
    return random_draw(1701, [=](const Key& k) { return random::bits(k, width, {3}); });
  };
  EXPECT_EQ(bits(8), words({3}, 37, 59, 52));
  EXPECT_EQ(bits(16), words({3}, 42789, 29755, 60468));
  EXPECT_EQ(bits(32), words({3}, 1111271205, 2679469115, 974515252));
  EXPECT_EQ(bits(64), HostTensor({3}, {uint64_t{3182764935064573181}, uint64_t{366096495144982249},
                                       uint64_t{241365115613244543}}));
}

// A value depends only on its row-major position, not on the shape.
TEST(Random, ValuesDoNotDependOnTheShape) {
  const HostTensor flat = random_draw(3, [](const Key& k) { return random::bits(k, 32, {24}); });
  const HostTensor cube = random_draw(3, [](const Key& k) {
    return random::bits(k, 32, {2, 3, 4});
  });
  EXPECT_EQ(cube.reshaped({24}), flat);
}

TEST(Random, Floats) {
  const auto near = [](const HostTensor& got, const std::vector<double>& expected) {
    EXPECT_THAT(elements(got), Pointwise(DoubleNear(5e-7), expected));
  };
  near(random_draw(1701, [](const Key& k) { return random::uniform(k, {4}); }),
       {0.258737922, 0.623862505, 0.226897001, 0.121532083});
  near(random_draw(1701, [](const Key& k) { return random::normal(k, {4}); }),
       {-0.647241116, 0.315641105, -0.749104738, -1.16736197});
  near(random_draw(1701, [](const Key& k) { return random::gumbel(k, {4}); }),
       {-0.301540285, 0.751146555, -0.39424175, -0.74553901});
  near(random_draw(1701, [](const Key& k) { return random::truncated_normal(k, {4}, -2, 2); }),
       {-0.613673925, 0.300826788, -0.708481193, -1.08594131});
  near(random_draw(1701, [](const Key& k) { return random::uniform(k, {4}, DType::kBF16); }),
       {0.140625, 0.2265625, 0.203125, 0.6953125});
  near(random_draw(0, [](const Key& k) { return random::uniform(random::split_each(k)[1], {}); }),
       {0.00729382});
  near(random_draw(42, [](const Key& k) { return random::normal(k, {}); }), {-0.028304616});
}

// A part that begins at `begin` and has `sizes`.
HostTensor drawn_part(const Shape& whole, const std::vector<int32_t>& begin, const Shape& sizes) {
  return random_draw(5, [&](const Key& k) {
    Values starts;
    for (const int32_t b : begin) starts.push_back(scalar(b, DType::kI32));
    return random::bernoulli(k, random::Part{whole, starts, sizes}, 0.3);
  });
}

TEST(Random, PartsAreSlicesOfTheWhole) {
  const HostTensor sliced = random_draw(5, [](const Key& k) {
    return slice(random::bernoulli(k, {3, 5, 7}, 0.3), {1, 0, 2}, {3, 4, 7});
  });
  EXPECT_EQ(drawn_part({3, 5, 7}, {1, 0, 2}, {2, 4, 5}), sliced);
  EXPECT_EQ(drawn_part({3, 5, 7}, {0, 0, 0}, {3, 5, 7}), random_draw(5, [](const Key& k) {
              return random::bernoulli(k, {3, 5, 7}, 0.3);
            }));
}

TEST(Random, PartsOfMoreThan32BitsOfElements) {
  const int64_t row = int64_t{1} << 31;
  const HostTensor fourth_row = drawn_part({8, row}, {3, 5}, {1, 64});
  EXPECT_EQ(fourth_row, drawn_part({2, 4, row}, {0, 3, 5}, {1, 1, 64}).reshaped({1, 64}));
  // Without the upper word, the rows 1 and 3 would be equal.
  EXPECT_NE(fourth_row, drawn_part({8, row}, {1, 5}, {1, 64}));
}

TEST(Random, PartsNeedTheNewThreefry) {
  const auto draw = [](random::PrngImpl impl) {
    return run(
        [&](const Values& v) {
          return random::bernoulli(Key::wrap(v[0], impl), random::Part{{4}, {}, {4}}, 0.5);
        },
        {random::key_words(1, impl)});
  };
  EXPECT_THROW(draw(random::PrngImpl::kRbg), ShapeError);
  EXPECT_NO_THROW(draw(random::PrngImpl::kThreefry2x32));
  const random::PrngScope original({.threefry = random::ThreefryMode::kOriginal});
  EXPECT_THROW(draw(random::PrngImpl::kThreefry2x32), ShapeError);
}

TEST(Random, Integers) {
  EXPECT_THAT(elements(random_draw(1701, [](const Key& k) { return random::bernoulli(k, {8}); })),
              ElementsAre(1, 0, 1, 1, 1, 0, 1, 1));
  EXPECT_THAT(
      elements(random_draw(1701, [](const Key& k) { return random::randint(k, {6}, 0, 100); })),
      ElementsAre(32, 98, 37, 14, 72, 73));
  EXPECT_THAT(elements(random_draw(1701, [](const Key& k) { return random::permutation(k, 8); })),
              ElementsAre(1, 6, 5, 4, 0, 2, 7, 3));
}

TEST(Random, RandintCoversItsRange) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    const auto x = elements(
        random_draw(5, [=](const Key& k) { return random::randint(k, {1000}, -2, 3, dtype); }));
    EXPECT_EQ(*std::ranges::min_element(x), -2);
    EXPECT_EQ(*std::ranges::max_element(x), 2);
  }
  const HostTensor all = random_draw(5, [](const Key& k) {
    return random::randint(k, {100}, -(int64_t{1} << 31), int64_t{1} << 31);
  });
  EXPECT_LT(*std::ranges::min_element(all.values<int32_t>()), -(1 << 30));
  EXPECT_GT(*std::ranges::max_element(all.values<int32_t>()), 1 << 30);
}

// The mean and variance of 10000 draws are within five standard errors.
TEST(Random, Moments) {
  struct Case {
    const char* name;
    std::function<Tensor(const Key&)> sampler;
    double mean, variance;
  };
  const Shape shape{10000};
  const double euler = 0.57721566490153286;
  for (const Case& c :
       {Case{"uniform", [&](const Key& k) { return random::uniform(k, shape, DType::kF32, -2, 4); },
             1, 3},
        {"uniform f64", [&](const Key& k) { return random::uniform(k, shape, DType::kF64); }, 0.5,
         1.0 / 12},
        {"normal", [&](const Key& k) { return random::normal(k, shape); }, 0, 1},
        {"exponential", [&](const Key& k) { return random::exponential(k, shape); }, 1, 1},
        {"gumbel", [&](const Key& k) { return random::gumbel(k, shape); }, euler, M_PI * M_PI / 6},
        {"laplace", [&](const Key& k) { return random::laplace(k, shape); }, 0, 2},
        {"bernoulli", [&](const Key& k) { return random::bernoulli(k, shape, 0.3); }, 0.3, 0.21},
        {"rademacher", [&](const Key& k) { return random::rademacher(k, shape); }, 0, 1},
        {"randint", [&](const Key& k) { return random::randint(k, shape, 0, 7); }, 3, 4}}) {
    const auto x = elements(random_draw(11, c.sampler));
    double sum = 0, square = 0;
    for (const double v : x) sum += v;
    const double mean = sum / static_cast<double>(x.size());
    for (const double v : x) square += (v - mean) * (v - mean);
    EXPECT_NEAR(mean, c.mean, 5 * std::sqrt(c.variance / 1e4)) << c.name;
    EXPECT_NEAR(square / static_cast<double>(x.size()), c.variance, 0.15 * c.variance) << c.name;
  }
}

TEST(Random, TruncatedNormalStaysInside) {
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    for (const double v : elements(random_draw(1, [=](const Key& k) {
           return random::truncated_normal(k, {2000}, -0.5, 1, dtype);
         }))) {
      ASSERT_TRUE(v > -0.5 && v < 1) << v;
    }
  }
}

TEST(Random, CategoricalFollowsTheLogits) {
  const HostTensor logits({3}, {std::log(0.2f), std::log(0.5f), std::log(0.3f)});
  const HostTensor x =
      run([](const Values& v) { return random::categorical(Key::wrap(v[0]), v[1], -1, {5000}); },
          {random::key_words(1), logits});
  EXPECT_EQ(x.shape(), (Shape{5000}));
  const auto values = x.values<int32_t>();
  EXPECT_NEAR(static_cast<double>(std::ranges::count(values, 0)), 1000, 150);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(values, 1)), 2500, 180);
}

TEST(Random, Choice) {
  const auto sorted = [](const HostTensor& x) {
    auto out = elements(x);
    std::ranges::sort(out);
    return out;
  };
  const auto without = [](const Key& k) {
    return random::choice(k, 6, {2, 3}, random::Replacement::kWithout);
  };
  EXPECT_EQ(random_draw(2, without).shape(), (Shape{2, 3}));
  EXPECT_THAT(sorted(random_draw(2, without)), ElementsAre(0, 1, 2, 3, 4, 5));
  const HostTensor p({4}, {0.0f, 0.25f, 0.75f, 0.0f});
  const auto with = [&](random::Replacement r, Shape shape) {
    return run([&](const Values& v) { return random::choice(Key::wrap(v[0]), v[1], shape, r); },
               {random::key_words(3), p});
  };
  EXPECT_THAT(sorted(with(random::Replacement::kWithout, {2})), ElementsAre(1, 2));
  const HostTensor many = with(random::Replacement::kWith, {40, 50});
  EXPECT_NEAR(static_cast<double>(std::ranges::count(many.values<int32_t>(), 2)), 1500, 100);
  EXPECT_EQ(
      std::ranges::count(many.values<int32_t>(), 1) + std::ranges::count(many.values<int32_t>(), 2),
      2000);
}

TEST(Random, PermutationMovesSlices) {
  const HostTensor x = testing::counting({3, 4, 2});
  const HostTensor order = random_draw(9, [](const Key& k) { return random::permutation(k, 4); });
  const HostTensor y =
      run([](const Values& v) { return random::permutation(Key::wrap(v[0]), v[1], 1); },
          {random::key_words(9), x});
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(y.at(2 * i), x.at(2 * static_cast<int64_t>(order.at(i))));
}

TEST(Random, MistakesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(0);
  EXPECT_THROW(random::uniform(random::split(key, 3), {2}), ShapeError);
  EXPECT_THROW(random::bits(key, 24, {2}), ShapeError);
  EXPECT_THROW(random::normal(key, {2}, DType::kI32), ShapeError);
  EXPECT_THROW(random::randint(key, {2}, 0, 5, DType::kF32), ShapeError);
  EXPECT_THROW(random::choice(key, 3, {4}, random::Replacement::kWithout), ShapeError);
  EXPECT_THROW(random::fold_in(key, scalar(1.0)), ShapeError);
}

}  // namespace
}  // namespace axle
