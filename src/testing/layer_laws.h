// Laws that hold for every layer.
//
//   AXLE_LAYER_LAWS(FeedForward, {.model_dim = 4},
//                   {{"plain", {.hidden_dim = FixedDim{6}}}, {"gated", kGated}})
// checks, for each case:
//   - gradients against finite differences in f64;
//   - that a rematerialised call returns the same bits as a plain one;
//   - that bf16 is close to f64;
//   - that prefill and single steps return the same as the whole text at once, or that decoding is
//     refused;
//   - that padding does not count (padding_law.h);
//   - the parameters and the numbers of one training call against
//     <golden folder>/<Layer>/<case>.txt (testing/golden.h; UPDATE_GOLDEN=1 writes it).
#pragma once

#include <fmt/format.h>

#include <sstream>

#include "nn/remat_policies.h"
#include "testing/golden.h"
#include "testing/layer_inputs.h"
#include "testing/padding_law.h"
#include "testing/test_layer.h"

namespace axle::testing {

/// A config with a name, which appears in messages and in the paths of golden files.
template <class L>
struct LawCase {
  std::string name;
  typename L::Config config;
};

using VisitLayer = std::function<void(const Layer&)>;

/// Of each use of the laws in this program, a function that builds its cases and visits all their
/// layers: whoever asks for them knows which layers the laws run.
inline std::vector<std::function<void(const VisitLayer&)>>& all_laws() {
  static std::vector<std::function<void(const VisitLayer&)>> laws;
  return laws;
}

namespace detail {

inline bool list_laws(std::function<void(const VisitLayer&)> visit_cases) {
  all_laws().push_back(std::move(visit_cases));
  return true;
}

template <class L>
void visit_cases(const VisitLayer& fn, const typename L::Role::Dims& dims,
                 const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases)
    Child<typename L::Role>(config).build(dims, Scope{.path = "case"})->visit(fn);
}

template <class L>
void law_gradients(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    TestLayer<L> layer(config, dims);
    const LayerFunction fn =
        layer.function(LawInputs<typename L::Role>::make(dims), {.training = true});
    check_gradients(fn, fn.arguments(), 1);
  }
}

/// Returns results and gradients for fixed cotangents.
inline std::vector<HostTensor> results_and_gradients(const LayerFunction& fn) {
  const std::vector<HostTensor> y = eval(fn, fn.arguments());
  std::vector<HostTensor> cotangents;
  for (size_t i = 0; i < y.size(); ++i) cotangents.push_back(random_tensor(y[i].type(), 50 + i, 1));
  std::vector<HostTensor> all = eval(gradient_function(fn, cotangents), fn.arguments());
  all.insert(all.end(), y.begin(), y.end());
  return all;
}

template <class L>
void law_remat(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    const Tree<HostTensor> inputs = LawInputs<typename L::Role>::make(dims);
    TestLayer<L> plain(config, dims), rematerialised(config, dims, {.remat = SaveNothing{}});
    EXPECT_EQ(results_and_gradients(plain.function(inputs, {.training = true})),
              results_and_gradients(rematerialised.function(inputs, {.training = true})));
  }
}

template <class L>
void law_bf16(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    TestLayer<L> layer(config, dims);
    Tree<HostTensor> inputs = LawInputs<typename L::Role>::make(dims),
                     parameters = layer.parameters();
    for (Tree<HostTensor>* tree : {&inputs, &parameters}) {
      for (auto& [path, value] : *tree) {
        if (is_float(value.dtype())) value = value.astype(DType::kBF16);
      }
    }
    layer.set_all(parameters);
    const LayerResult low = layer.call(inputs), high = layer.call(inputs, {.eval = {.f64 = true}});
    DType result = DType::kBF16;
    if constexpr (requires { LawInputs<typename L::Role>::kResult; })
      result = LawInputs<typename L::Role>::kResult;
    for (size_t i = 0; i < low.outputs.size(); ++i) {
      EXPECT_LE(relative_difference(low.outputs[i], high.outputs[i]), 0.05);
      if constexpr (!std::is_same_v<typename L::Role, Model>) {
        EXPECT_EQ(low.outputs[i].dtype(), result) << "result " << i;
      }
    }
  }
}

inline std::string parameter_table(const Tree<ParamSpec>& specs) {
  std::ostringstream out;
  for (const auto& [path, spec] : specs) {
    out << path << ": " << to_text(spec.type()) << " axes " << to_text(spec.partition()) << " init "
        << spec.initialiser().text;
    if (spec.weight_decay_scale) out << " decay x" << fmt::format("{}", *spec.weight_decay_scale);
    out << "\n";
  }
  return out.str();
}

/// Writes 6 digits, which are the same on every machine that computes in f64. Rounding noise
/// becomes 0.
inline std::string golden_number(double v) {
  return fmt::format("{:.6g}", std::abs(v) < 1e-9 ? 0.0 : v);
}
inline double norm_of(const HostTensor& x) { return std::sqrt(inner_product({x}, {x})); }

/// Writes the numbers of one training call in f64: its results, the loss <cotangents, results>, and
/// the norm of the loss's gradient by each floating-point argument.
inline std::string numbers_of(const LayerFunction& fn) {
  std::vector<HostTensor> arguments = fn.arguments();
  // Rounds to few bits, so that initial values whose last digit differs between machines give the
  // same.
  for (HostTensor& x : arguments) {
    if (is_float(x.dtype())) x = x.astype(DType::kBF16).astype(x.dtype());
  }
  const EvalOptions f64{.f64 = true};
  const std::vector<HostTensor> y = eval(fn, arguments, f64);
  std::vector<HostTensor> cotangents;
  std::string out;
  for (size_t i = 0; i < y.size(); ++i) {
    cotangents.push_back(random_tensor(y[i].type(), 80 + i, 1).astype(y[i].dtype()));
    out += fmt::format("result {}: {} norm {}:", i, to_text(y[i].shape()),
                       golden_number(norm_of(y[i])));
    for (int64_t j = 0; j < std::min<int64_t>(y[i].size(), 8); ++j)
      out += " " + golden_number(y[i].at(j));
    out += "\n";
  }
  out += "loss: " + golden_number(inner_product(y, cotangents)) + "\n";
  const auto gradients = eval(gradient_function(fn, cotangents), arguments, f64);
  std::vector<std::string> paths = fn.parameter_paths();
  paths.insert(paths.end(), fn.input_paths().begin(), fn.input_paths().end());
  size_t next = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!is_float(arguments[i].dtype())) continue;
    out += fmt::format("gradient by {}: norm {}\n", paths[i],
                       golden_number(norm_of(gradients[next++])));
  }
  return out;
}

template <class L>
void law_golden(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    TestLayer<L> layer(config, dims);
    const LayerFunction fn =
        layer.function(LawInputs<typename L::Role>::make(dims), {.training = true});
    expect_golden(std::string(L::Config::config_type().name) + "/" + name + ".txt",
                  parameter_table(layer.layer().param_specs()) + numbers_of(fn));
  }
}

/// Returns, for each row b of x[B, T, ..], the n tokens from starts[b] on.
inline HostTensor tokens_from(const HostTensor& x, const std::vector<int64_t>& starts, int64_t n) {
  Shape shape = x.shape();
  const auto rows = shape[0], length = std::exchange(shape[1], n);
  HostTensor out(Type{x.dtype(), shape});
  if (out.size() == 0) return out;
  const size_t token = out.bytes().size() / static_cast<size_t>(rows * n);
  for (int64_t b = 0; b < rows; ++b) {
    const auto from = static_cast<size_t>(b * length + starts[static_cast<size_t>(b)]) * token;
    std::ranges::copy(x.bytes().subspan(from, static_cast<size_t>(n) * token),
                      out.bytes().subspan(static_cast<size_t>(b * n) * token).begin());
  }
  return out;
}

/// Feeds a layer some tokens of each row at a time, and keeps its decode state between calls.
template <class L>
class DecodingSession {
 public:
  using Names = LawInputs<typename L::Role>;
  /// `places_prompts`: false passes no positions in calls that begin their rows.
  DecodingSession(TestLayer<L>& layer, int64_t batch_size, int64_t max_len,
                  bool places_prompts = true)
      : layer_(layer), places_prompts_(places_prompts) {
    for (const auto& [path, spec] :
         layer.layer().decode_state_specs({.batch_size = batch_size, .max_len = max_len}))
      state_.emplace(path, HostTensor(spec.type));
  }
  /// Feeds n tokens of each row from starts[b] on; the first lengths[b] of them count.
  std::vector<HostTensor> extend(const HostTensor& tokens, const std::vector<int64_t>& starts,
                                 int64_t n, const std::vector<int64_t>& lengths) {
    const auto rows = std::ssize(starts);
    Tree<HostTensor> inputs{{std::string(Names::kTokens), tokens_from(tokens, starts, n)}};
    HostTensor positions(Type{DType::kI32, {rows, n}}), last(Type{DType::kI32, {rows}});
    for (int64_t b = 0; b < rows; ++b) {
      const auto row = static_cast<size_t>(b);
      for (int64_t t = 0; t < n; ++t)
        positions.values<int32_t>()[b * n + t] = static_cast<int32_t>(starts[row] + t);
      last.values<int32_t>()[row] = static_cast<int32_t>(lengths[row] - 1);
    }
    if constexpr (requires { Names::kPositions; }) {
      const auto is_begun = [](int64_t start) { return start > 0; };
      if (places_prompts_ || std::ranges::any_of(starts, is_begun))
        inputs.emplace(Names::kPositions, positions);
    }
    if constexpr (requires { Names::kLastIndex; }) {
      inputs.emplace(Names::kLastIndex, last);
    }
    LayerResult result =
        layer_.call(inputs, {.method = Names::kMethod, .decoding = true, .state = state_});
    for (auto& [path, value] : result.state) state_.at(path) = std::move(value);
    return std::move(result.outputs);
  }

 private:
  TestLayer<L>& layer_;
  bool places_prompts_;
  Tree<HostTensor> state_;
};

/// Prefills a prompt of two rows with different lengths, then decodes token by token, each row at
/// its own position. The prompt has positions, or none.
template <class L>
void law_decoding_tokens(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  using Names = LawInputs<typename L::Role>;
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    TestLayer<L> layer(config, dims);
    const std::string input(Names::kTokens);
    const HostTensor tokens = Names::make(dims).at(input);
    const int64_t length = tokens.shape()[1];
    const std::vector<int64_t> all{length - 1, length - 1};
    if (!layer.layer().can_decode()) {
      DecodingSession<L> decoding(layer, 2, length + 1);
      EXPECT_THROW(decoding.extend(tokens, {0, 0}, length - 1, all), ConfigError);
      continue;
    }
    const std::vector<HostTensor> whole =
        layer.call({{input, tokens}}, {.method = Names::kMethod}).outputs;
    // Expects that token `index` of row b of `got` equals token `at` of that row in `whole`.
    const auto expect_token = [&](const std::vector<HostTensor>& got, int64_t b, int64_t index,
                                  int64_t at) {
      for (size_t i = 0; i < whole.size(); ++i) {
        std::vector<int64_t> there(2, at), here(2, index);
        const HostTensor expected = tokens_from(whole[i], there, 1),
                         actual = tokens_from(got[i], here, 1);
        const int64_t size = expected.size() / 2;
        const double allowed = 1e-5 * std::max(1.0, largest_element(whole[i]));
        for (int64_t j = b * size; j < (b + 1) * size; ++j) {
          ASSERT_NEAR(actual.at(j), expected.at(j), allowed)
              << "result " << i << ", row " << b << ", token " << at;
        }
      }
    };
    // The second row's prompt is shorter if the layer takes last_index; padding follows it.
    std::vector<int64_t> lengths = all;
    if constexpr (requires { Names::kLastIndex; }) --lengths[1];
    for (const bool places_prompts : {true, false}) {
      DecodingSession<L> decoding(layer, 2, length + 1, places_prompts);
      const auto prefilled = decoding.extend(tokens, {0, 0}, length - 1, lengths);
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t t = 0; t < lengths[b]; ++t) expect_token(prefilled, b, t, t);
      }
      const auto stepped = decoding.extend(tokens, lengths, 1, {1, 1});
      expect_token(stepped, 0, 0, length - 1);
      expect_token(stepped, 1, 0, lengths[1]);
      if (lengths[1] + 1 < length)
        expect_token(decoding.extend(tokens, {length - 1, length - 1}, 1, {1, 1}), 1, 0,
                     length - 1);
    }
  }
}

template <class L>
void law_decoding(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  using Names = LawInputs<typename L::Role>;
  if constexpr (requires { Names::kTokens; }) {
    law_decoding_tokens<L>(dims, cases);
  } else {
    for (const auto& [name, config] : cases) {
      SCOPED_TRACE(name);
      TestLayer<L> layer(config, dims);
      EXPECT_THROW(layer.call(Names::make(dims), {.decoding = true}), ConfigError);
    }
  }
}

}  // namespace detail
}  // namespace axle::testing

#define AXLE_LAYER_LAWS(L, ...)                                              \
  AXLE_CALL_LAWS(L, __VA_ARGS__)                                             \
  TEST(L##Laws, DecodingMatchesTheWholePass) {                               \
    ::axle::testing::detail::law_decoding<L>(__VA_ARGS__);                   \
  }                                                                          \
  TEST(L##Laws, PaddingDoesNotCount) {                                       \
    using Case = ::axle::testing::LawCase<L>;                                \
    ::axle::testing::detail::law_padding<L, std::vector<Case>>(__VA_ARGS__); \
  }

/// The same without decoding, for roles whose calls are not fed with tokens.
#define AXLE_CALL_LAWS(L, ...)                                                       \
  [[maybe_unused]] static const bool L##_laws_are_listed =                           \
      ::axle::testing::detail::list_laws([](const ::axle::testing::VisitLayer& fn) { \
        ::axle::testing::detail::visit_cases<L>(fn, __VA_ARGS__);                    \
      });                                                                            \
  TEST(L##Laws, GradientsAgreeWithDifferences) {                                     \
    ::axle::testing::detail::law_gradients<L>(__VA_ARGS__);                          \
  }                                                                                  \
  TEST(L##Laws, RematerialisedMatchesPlain) {                                        \
    ::axle::testing::detail::law_remat<L>(__VA_ARGS__);                              \
  }                                                                                  \
  TEST(L##Laws, Bf16IsClose) { ::axle::testing::detail::law_bf16<L>(__VA_ARGS__); }  \
  TEST(L##Laws, NumbersMatchGolden) { ::axle::testing::detail::law_golden<L>(__VA_ARGS__); }
