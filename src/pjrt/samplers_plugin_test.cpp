// Law: a plugin draws what the interpreter draws, for every sampler, dtype and pair of bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "io/file.h"
#include "io/safetensors.h"
#include "ops/rules.h"
#include "testing/checkout.h"
#include "testing/op_samples.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using random::Key;

namespace samples = testing::samples;

constexpr double kSamplersInfinity = std::numeric_limits<double>::infinity();

class Samplers : public PluginTest {
 protected:
  // Returns the largest difference between the plugin and the interpreter over 10 keys.
  double largest_rounding(const TensorFunction& draw) {
    double out = 0;
    for (int64_t seed = 0; seed < 10; ++seed) {
      const std::vector<HostTensor> key{random::key_words(seed)};
      const HostTensor fused = run(draw, key)[0], rounded = eval(draw, key)[0];
      for (int64_t i = 0; i < fused.size(); ++i)
        out = std::max(out, std::abs(fused.at(i) - rounded.at(i)));
    }
    return out;
  }
};

// How exactly the draws agree. Draws that use logarithms or the error function differ in the last
// bits.
enum class Agreement { kExact, kClose };

struct Sampler {
  std::string_view name;
  /// The parameters of the sampler in random.h after the key. Each overload has another form.
  std::string_view form;
  std::vector<DType> dtypes;
  Agreement agreement;
  /// v[0] is the key; v[1] and so on are `inputs` in the dtype.
  std::function<Values(const Values& v, DType dtype)> draw;
  std::vector<HostTensor> inputs = {};
};

const std::vector<DType> kFloats = {DType::kBF16, DType::kF32, DType::kF64},
                         kIntegers = {DType::kI32, DType::kI64, DType::kU32, DType::kU64},
                         kAny = {DType::kBF16, DType::kF32, DType::kF64, DType::kI32, DType::kU64};

using enum Agreement;
using random::Replacement;

// Adds the samplers of numbers.
void add_numbers(std::vector<Sampler>& out) {
  const Shape s = {7, 9};
  out.push_back(
      {"uniform", "shape, dtype, low, high", kFloats, kExact,
       [=](const Values& v, DType d) { return Values{random::uniform(Key::wrap(v[0]), s, d)}; }});
  out.push_back(
      {"uniform", "shape, dtype, low, high", kFloats, kClose, [=](const Values& v, DType d) {
         return Values{random::uniform(Key::wrap(v[0]), s, d, -2, 5)};
       }});
  out.push_back({"uniform",
                 "shape, low tensor, high tensor",
                 kFloats,
                 kClose,
                 [=](const Values& v, DType) {
                   return Values{random::uniform(Key::wrap(v[0]), s, v[1], v[2])};
                 },
                 {samples::uniform({7, 1}, -3, 0), samples::uniform({9}, 0.5, 2)}});
  out.push_back({"normal", "shape, dtype", kFloats, kClose, [=](const Values& v, DType d) {
                   return Values{random::normal(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back({"truncated_normal", "shape, low, high, dtype", kFloats, kClose,
                 [=](const Values& v, DType d) {
                   return Values{random::truncated_normal(Key::wrap(v[0]), s, -2, 1, d)};
                 }});
  out.push_back({"exponential", "shape, dtype", kFloats, kClose, [=](const Values& v, DType d) {
                   return Values{random::exponential(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back({"gumbel", "shape, dtype", kFloats, kClose, [=](const Values& v, DType d) {
                   return Values{random::gumbel(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back({"laplace", "shape, dtype", kFloats, kClose, [=](const Values& v, DType d) {
                   return Values{random::laplace(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back({"rademacher",
                 "shape, dtype",
                 {DType::kBF16, DType::kF32, DType::kF64, DType::kI32, DType::kI64},
                 kExact,
                 [=](const Values& v, DType d) {
                   return Values{random::rademacher(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back({"bernoulli", "shape, p", {DType::kPred}, kExact, [=](const Values& v, DType) {
                   return Values{random::bernoulli(Key::wrap(v[0]), s, 0.3)};
                 }});
  out.push_back(
      {"bernoulli",
       "shape, p tensor",
       kFloats,
       kExact,
       [=](const Values& v, DType) { return Values{random::bernoulli(Key::wrap(v[0]), s, v[1])}; },
       {HostTensor({9}, {0.f, 0.1f, 0.2f, 0.35f, 0.5f, 0.6f, 0.8f, 0.999f, 1.f})}});
  out.push_back(
      {"randint", "shape, low, high, dtype", kIntegers, kExact, [=](const Values& v, DType d) {
         return Values{random::randint(Key::wrap(v[0]), s, 3, 77, d)};
       }});
  out.push_back({"randint",
                 "shape, low tensor, high tensor",
                 {DType::kI8, DType::kU16, DType::kI32, DType::kI64, DType::kU32, DType::kU64},
                 kExact,
                 [=](const Values& v, DType) {
                   return Values{random::randint(Key::wrap(v[0]), s, v[1], v[2])};
                 },
                 {samples::integers({7, 1}, DType::kI32, 0, 20),
                  samples::integers({9}, DType::kI32, 9, 99)}});
  out.push_back({"bits", "width, shape", {DType::kU64}, kExact, [=](const Values& v, DType) {
                   return Values{
                       random::bits(Key::wrap(v[0]), 8, s), random::bits(Key::wrap(v[0]), 16, s),
                       random::bits(Key::wrap(v[0]), 32, s), random::bits(Key::wrap(v[0]), 64, s)};
                 }});
  out.push_back(
      {"bits",
       "shape, dtype",
       {DType::kU8, DType::kU16, DType::kU32, DType::kU64},
       kExact,
       [=](const Values& v, DType d) { return Values{random::bits(Key::wrap(v[0]), s, d)}; }});
  out.push_back({"logistic", "shape, dtype", kFloats, kClose, [=](const Values& v, DType d) {
                   return Values{random::logistic(Key::wrap(v[0]), s, d)};
                 }});
  out.push_back(
      {"cauchy", "shape, dtype", {DType::kF32, DType::kF64}, kClose, [=](const Values& v, DType d) {
         return Values{random::cauchy(Key::wrap(v[0]), s, d)};
       }});
}

// Adds the distributions of random.h. Their parameters are the inputs.
void add_distributions(std::vector<Sampler>& out) {
  const Shape s = {7, 9};
  const auto add = [&](std::string_view name, std::string_view form, Agreement agreement,
                       size_t num_parameters, auto draw) {
    std::vector<HostTensor> parameters;
    for (size_t i = 0; i < num_parameters; ++i)
      parameters.push_back(
          samples::uniform({9}, 0.2 + static_cast<double>(i), 0.8 + static_cast<double>(i), i + 1));
    out.push_back({name,
                   form,
                   {DType::kF32},
                   agreement,
                   [=](const Values& v, DType) { return Values{draw(v)}; },
                   parameters});
  };
  add("pareto", "shape, b", kClose, 1,
      [=](const Values& v) { return random::pareto(Key::wrap(v[0]), s, v[1]); });
  add("lognormal", "shape, sigma", kClose, 1,
      [=](const Values& v) { return random::lognormal(Key::wrap(v[0]), s, v[1]); });
  add("rayleigh", "shape, scale", kClose, 1,
      [=](const Values& v) { return random::rayleigh(Key::wrap(v[0]), s, v[1]); });
  add("wald", "shape, mean", kClose, 1,
      [=](const Values& v) { return random::wald(Key::wrap(v[0]), s, v[1]); });
  add("weibull_min", "shape, scale, concentration", kClose, 2,
      [=](const Values& v) { return random::weibull_min(Key::wrap(v[0]), s, v[1], v[2]); });
  add("triangular", "shape, left, mode, right", kClose, 3,
      [=](const Values& v) { return random::triangular(Key::wrap(v[0]), s, v[1], v[2], v[3]); });
  add("geometric", "shape, p, dtype", kExact, 1,
      [=](const Values& v) { return random::geometric(Key::wrap(v[0]), s, v[1]); });
  add("maxwell", "shape, dtype", kClose, 0,
      [=](const Values& v) { return random::maxwell(Key::wrap(v[0]), s); });
  add("double_sided_maxwell", "shape, loc, scale", kClose, 2, [=](const Values& v) {
    return random::double_sided_maxwell(Key::wrap(v[0]), s, v[1], v[2]);
  });
  add("multivariate_normal", "batch, mean, factor", kClose, 1, [=](const Values& v) {
    return random::multivariate_normal(Key::wrap(v[0]), {7}, v[1],
                                       expand_dims(v[1], 0) * expand_dims(v[1], 1));
  });
}

// Adds the samplers of keys, permutations and choices.
void add_choices(std::vector<Sampler>& out) {
  out.push_back({"split", "n", {DType::kU32}, kExact, [](const Values& v, DType) {
                   return Values{random::split(Key::wrap(v[0]), 5).data()};
                 }});
  out.push_back({"split_each", "n", {DType::kU32}, kExact, [](const Values& v, DType) {
                   const auto keys = random::split_each(Key::wrap(v[0]), 3);
                   return Values{keys[0].data(), keys[1].data(), keys[2].data()};
                 }});
  out.push_back({"fold_in", "number", {DType::kU32}, kExact, [](const Values& v, DType) {
                   return Values{random::fold_in(Key::wrap(v[0]), 3).data(),
                                 random::fold_in(Key::wrap(v[0]), 0xfffffffe).data()};
                 }});
  out.push_back(
      {"fold_in",
       "number tensor",
       kIntegers,
       kExact,
       [](const Values& v, DType) { return Values{random::fold_in(Key::wrap(v[0]), v[1]).data()}; },
       {HostTensor::scalar(int32_t{7})}});
  out.push_back({"permutation", "n", {DType::kI32}, kExact, [](const Values& v, DType) {
                   return Values{random::permutation(Key::wrap(v[0]), 1),
                                 random::permutation(Key::wrap(v[0]), 100)};
                 }});
  out.push_back({"permutation",
                 "x tensor, axis",
                 kAny,
                 kExact,
                 [](const Values& v, DType) {
                   return Values{random::permutation(Key::wrap(v[0]), v[1]),
                                 random::permutation(Key::wrap(v[0]), v[1], 1)};
                 },
                 {samples::integers({6, 5})}});
  out.push_back({"independent_permutation",
                 "x tensor, axis",
                 {DType::kI32},
                 kExact,
                 [](const Values& v, DType) {
                   return Values{random::independent_permutation(Key::wrap(v[0]), v[1]),
                                 random::independent_permutation(Key::wrap(v[0]), v[1], 1)};
                 },
                 {samples::integers({6, 5})}});
  // Few logits, far apart, so that the last bits of a bf16 change no draw.
  out.push_back({"categorical",
                 "logits, axis, batch, replacement",
                 kFloats,
                 kExact,
                 [](const Values& v, DType) {
                   return Values{
                       random::categorical(Key::wrap(v[0]), v[1]),
                       random::categorical(Key::wrap(v[0]), v[1], 0),
                       random::categorical(Key::wrap(v[0]), v[1], -1, {4}),
                       random::categorical(Key::wrap(v[0]), v[1], -1, {2}, Replacement::kWithout)};
                 },
                 {samples::uniform({3, 5}, -2, 2)}});
  out.push_back(
      {"choice", "n, shape, replacement", {DType::kI32}, kExact, [](const Values& v, DType) {
         return Values{random::choice(Key::wrap(v[0]), 20, {5, 9}),
                       random::choice(Key::wrap(v[0]), 20, {4, 5}, Replacement::kWithout)};
       }});
  out.push_back({"choice",
                 "p, shape, replacement",
                 kFloats,
                 kExact,
                 [](const Values& v, DType) {
                   return Values{
                       random::choice(Key::wrap(v[0]), v[1], {5, 9}),
                       random::choice(Key::wrap(v[0]), v[1], {2, 2}, Replacement::kWithout)};
                 },
                 {HostTensor({6}, {0.0625f, 0.25f, 0.125f, 0.f, 0.5f, 0.0625f})}});
}

std::vector<Sampler> samplers() {
  std::vector<Sampler> out;
  add_numbers(out);
  add_distributions(out);
  add_choices(out);
  return out;
}

// A new sampler in random.h needs rows here.
TEST_F(Samplers, DeclaredSamplersAreAllCompared) {
  std::map<std::string, std::set<std::string>> forms;
  for (const Sampler& sampler : samplers()) forms[std::string(sampler.name)].emplace(sampler.form);
  const std::string header = read_file(source_file("src/ops/random/random.h"));
  // What samplers do with keys of rbg has no row of its own: RandomKeys draws with such keys.
  const std::regex declaration("\n(?:Tensor|Key|std::vector<Key>) (?!rbg_)(\\w+)\\(const Key& key");
  std::map<std::string, size_t> declared;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it)
    ++declared[(*it)[1]];
  EXPECT_GE(declared.size(), 29u);
  for (const auto& [name, overloads] : declared) EXPECT_EQ(forms[name].size(), overloads) << name;
}

using WeeklySamplers = Samplers;

TEST_F(WeeklySamplers, MatchTheInterpreter) {
  for (const Sampler& sampler : samplers()) {
    for (const DType dtype : sampler.dtypes) {
      SCOPED_TRACE(fmt::format("{}({}) of {}", sampler.name, sampler.form, name_of(dtype)));
      std::vector<HostTensor> inputs = {random::key_words(17)};
      for (const HostTensor& x : sampler.inputs) inputs.push_back(x.astype(dtype));
      const TensorFunction fn = [&](const Values& v) { return sampler.draw(v, dtype); };
      if (sampler.agreement == kExact) {
        EXPECT_EQ(run(fn, inputs), eval(fn, inputs));
      } else {
        expect_same(fn, inputs, dtype == DType::kF64 ? 1e-14 : 1e-6);
      }
    }
  }
}

template <class T>
void push_edges(std::vector<int64_t>& out) {
  using Limits = std::numeric_limits<T>;
  for (const T v :
       {Limits::min(), static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() - 1),
        Limits::max(), static_cast<T>(Limits::max() / 3)}) {
    if (std::in_range<int64_t>(v)) out.push_back(static_cast<int64_t>(v));
  }
}

// Tries every pair of bounds of the dtype: small and negative ones, the ends of the range, and
// values that a double does not hold exactly.
TEST_F(Samplers, IntegersMatchBetweenAllBounds) {
  const std::vector<HostTensor> key{random::key_words(5)};
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kU32, DType::kU64}) {
    std::vector<int64_t> bounds{-2, 0, 3, 100, (int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1};
    dispatch(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (detail::Integer<T>) push_edges<T>(bounds);
    });
    std::erase_if(bounds, [&](int64_t v) { return !Scalar(v).fits(dtype); });
    std::vector<std::pair<int64_t, int64_t>> intervals;
    for (const int64_t low : bounds) {
      for (const int64_t high : bounds) {
        if (low < high) intervals.emplace_back(low, high);
      }
    }
    intervals.emplace_back(3, 3);  // an empty interval gives its lower end
    const TensorFunction draw = [&](const Values& k) {
      Values out;
      for (const auto& [low, high] : intervals)
        out.push_back(random::randint(Key::wrap(k[0]), {10}, low, high, dtype));
      return out;
    };
    const auto actual = run(draw, key), expected = eval(draw, key);
    for (size_t i = 0; i < intervals.size(); ++i) {
      const auto& [low, high] = intervals[i];
      EXPECT_EQ(actual[i], expected[i])
          << name_of(dtype) << " in [" << low << ", " << high << "): " << actual[i].text()
          << " against " << expected[i].text();
      for (int64_t j = 0; j < expected[i].size(); ++j) {
        const Scalar drawn = expected[i].element(j);
        const auto offset = drawn.as<uint64_t>() - static_cast<uint64_t>(low);
        EXPECT_LT(offset,
                  std::max<uint64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low), 1))
            << drawn.text() << " in [" << low << ", " << high << ")";
      }
    }
  }
}

// Bounds of floats: negative, far apart, as close as possible, infinite.
TEST_F(Samplers, FloatsMatchBetweenAllBounds) {
  const std::vector<HostTensor> key{random::key_words(6)};
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{{-3, -1},
                                                                          {-1e30, 1e30},
                                                                          {1, 1 + 0x1p-7},
                                                                          {1e-30, 2e-30},
                                                                          {-kSamplersInfinity, 0},
                                                                          {5, 5}}) {
      SCOPED_TRACE(fmt::format("{} in [{}, {})", name_of(dtype), low, high));
      const auto draw = [&, from = low, to = high](const Values& k) {
        return Values{random::uniform(Key::wrap(k[0]), {20}, dtype, from, to)};
      };
      PluginTest::expect_same(draw, key, 1e-6);
    }
    for (const auto& [low, high] :
         std::vector<std::pair<double, double>>{{-2, 2},
                                                {-30, -2},
                                                {1, kSamplersInfinity},
                                                {-kSamplersInfinity, kSamplersInfinity},
                                                {0, 0x1p-4}}) {
      SCOPED_TRACE(fmt::format("{} truncated to [{}, {}]", name_of(dtype), low, high));
      const auto draw = [&, from = low, to = high](const Values& k) {
        return Values{random::truncated_normal(Key::wrap(k[0]), {20}, from, to, dtype)};
      };
      PluginTest::expect_same(draw, key, 1e-6);
    }
  }
  for (const double p : {-1.0, 0.0, 0x1p-40, 0.5, 1 - 0x1p-24, 1.0, 2.0}) {
    const auto draw = [p](const Values& k) {
      return Values{random::bernoulli(Key::wrap(k[0]), {50}, p)};
    };
    EXPECT_EQ(run(draw, key), eval(draw, key)) << p;
  }
}

// XLA contracts u * (high - low) + low to one operation, as it does in JAX: the numbers are JAX's
// to the last bit.
TEST_F(Samplers, FusedNumbersMatchJax) {
  const SafetensorsFile stored(reference_file("jax/random.safetensors"));
  const auto uniform = [](const Values& v) {
    return Values{random::uniform(Key::wrap(v[0]), {7}, DType::kF32, -2, 5)};
  };
  const auto truncated = [](const Values& v) {
    return Values{random::truncated_normal(Key::wrap(v[0]), {6}, -2, 2)};
  };
  for (const int64_t seed : {0, 1, 42}) {
    const std::string name = fmt::format("threefry2x32/{}/", seed);
    const std::vector<HostTensor> key{random::key_words(seed)};
    EXPECT_EQ(run(uniform, key)[0], stored.get(name + "uniform_-2_5")) << seed;
    EXPECT_EQ(run(truncated, key)[0], stored.get(name + "truncated_normal")) << seed;
  }
}

// In units in the last place: one of 7 for numbers in [-2, 5); eight of 1 for the truncated
// distribution, where erf_inv makes a difference of u up to 9 times as large.
TEST_F(Samplers, InterpreterDiffersByRoundingOnly) {
  const double of_uniform = largest_rounding([](const Values& v) {
    return Values{random::uniform(Key::wrap(v[0]), {1000}, DType::kF32, -2, 5)};
  });
  EXPECT_GT(of_uniform, 0);
  EXPECT_LE(of_uniform, 0x1p-21);
  const double of_truncated = largest_rounding([](const Values& v) {
    return Values{random::truncated_normal(Key::wrap(v[0]), {1000}, -2, 2)};
  });
  EXPECT_GT(of_truncated, 0);
  EXPECT_LE(of_truncated, 8 * 0x1p-23);
}

}  // namespace
}  // namespace axle
