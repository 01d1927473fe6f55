// The law of padding: results and gradients of tokens do not depend on how much padding there is or
// on what it holds, as long as that is finite: products with zero, of attention weights or of
// gradients, leave it out of sums, and do not leave out inf or NaN.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/layer_inputs.h"
#include "testing/test_layer.h"

namespace axle::testing::detail {

/// A batch whose first two rows have tokens: row b has `length - 1 - b`, less the one at `hole`.
/// All the rest is padding, which holds numbers of `seed` up to `largest`; NaN if that is NaN.
struct PaddedBatch {
  int64_t rows, length;  // of the batch
  int64_t base_length;   // of the one whose tokens it has
  uint64_t seed;
  double largest = 10;
  int64_t hole = -1;

  bool is_token(int64_t row, int64_t position) const {
    return row < 2 && position < base_length - 1 - row && position != hole;
  }
  /// Returns x[2, base_length, ..] with the rows and the length of this batch.
  HostTensor of(const std::string& name, const HostTensor& x) const {
    Shape shape = x.shape();
    shape[0] = rows;
    shape[1] = length;
    const HostTensor noise = std::isnan(largest)
                                 ? HostTensor::full(shape, largest)
                                 : random_tensor({DType::kF64, shape}, seed, largest);
    const int64_t step = noise.size() / (rows * length);
    HostTensor out(Type{DType::kF64, shape});
    for (int64_t i = 0; i < out.size(); ++i) {
      const int64_t row = i / step / length, position = i / step % length;
      double& to = out.values<double>()[i];
      if (is_token(row, position))
        to = x.at((row * base_length + position) * step + i % step);
      else if (is_float(x.dtype()))
        to = noise.at(i);
      else if (name.ends_with("target_labels"))
        to = -1;
      else if (!name.ends_with("segment_ids"))
        to = static_cast<double>((static_cast<uint64_t>(position) + seed) % 3);
    }
    return out.astype(x.dtype());
  }
  /// Returns the tokens of a result that has rows and positions; other results as they are.
  HostTensor tokens_of(const HostTensor& y) const {
    for (size_t axis = 0; axis < 2 && axis + 1 < y.shape().size(); ++axis) {
      const Shape& shape = y.shape();
      if (shape[axis] != rows || shape[axis + 1] != length) continue;
      int64_t size = 1, outer = axis == 0 ? 1 : shape[0];
      for (size_t i = axis + 2; i < shape.size(); ++i) size *= shape[i];
      std::vector<double> kept;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < rows * length * size; ++i) {
          if (is_token(i / size / length, i / size % length))
            kept.push_back(real_parts(y).at(o * rows * length * size + i));
        }
      }
      HostTensor out(Type{DType::kF64, {std::ssize(kept)}});
      std::ranges::copy(kept, out.values<double>().begin());
      return out;
    }
    return y;
  }
};

template <class Names>
constexpr std::string_view segments_name() {
  if constexpr (requires { Names::kPositions; }) {
    const std::string_view positions = Names::kPositions;
    if (positions == "batch/input_positions") return "batch/input_segment_ids";
    if (positions == "context/positions") return "context/segment_ids";
  }
  return "segment_ids";
}

/// Returns what a call returns by name: the tokens of its results, losses, state and summaries, and
/// the gradients of sum(c * tokens of results) + the losses for fixed c. `weighs_others`: results
/// at other positions than those of x, which belong to no token, count too.
template <class L>
Tree<HostTensor> numbers_of_tokens(TestLayer<L>& layer, const Tree<HostTensor>& base,
                                   const PaddedBatch& batch, const CallOptions& options,
                                   bool weighs_others = false) {
  using Names = LawInputs<typename L::Role>;
  Tree<HostTensor> inputs = base;
  const std::string segments(segments_name<Names>());
  const Shape tokens{2, batch.base_length};
  inputs.try_emplace(segments, HostTensor::full({2, batch.base_length}, 1).astype(DType::kI32));
  for (auto& [name, x] : inputs) {
    if (x.shape().size() >= 2 && std::equal(tokens.begin(), tokens.end(), x.shape().begin()))
      x = batch.of(name, x);
  }
  const LayerFunction fn = layer.function(inputs, options);
  const EvalOptions f64{.f64 = true};
  Tree<HostTensor> out;
  std::vector<std::string> names;
  size_t num_results = 0, num_losses = 0;
  const auto everything = [&](const Values& x) {
    Values values = fn(x);
    num_results = values.size();
    const OutputCollection& more = fn.collected();
    num_losses = more.aux_losses.size();
    names.clear();
    for (size_t i = 0; i < num_results; ++i) names.push_back(fmt::format("result {}", i));
    for (const auto* tree : {&more.aux_losses, &more.state, &more.summaries}) {
      for (const auto& [path, t] : *tree) {
        names.push_back(path);
        values.push_back(t);
      }
    }
    return values;
  };
  const std::vector<HostTensor> values = eval(everything, fn.arguments(), f64);
  std::vector<HostTensor> cotangents;
  for (size_t i = 0; i < values.size(); ++i) {
    out.emplace(names[i], batch.tokens_of(values[i]));
    // Every batch weighs the same token with the same number.
    HostTensor ones = HostTensor::full(values[i].shape(), i < num_results + num_losses ? 1 : 0);
    HostTensor weights(Type{DType::kF64, values[i].shape()});
    const Shape& shape = values[i].shape();
    size_t axis = 0;
    while (axis < 2 && axis + 1 < shape.size() &&
           (shape[axis] != batch.rows || shape[axis + 1] != batch.length))
      ++axis;
    const bool by_token = axis < 2 && axis + 1 < shape.size();
    const bool is_other = i < num_results && !by_token && !shape.empty();
    int64_t size = 1;
    for (size_t d = axis + 2; by_token && d < shape.size(); ++d) size *= shape[d];
    for (int64_t j = 0; j < weights.size(); ++j) {
      double& w = weights.values<double>()[j];
      if (!by_token) {
        w = is_other && !weighs_others ? 0 : ones.at(j);
        continue;
      }
      const int64_t position = j / size % batch.length, row = j / size / batch.length % batch.rows;
      if (batch.is_token(row, position))
        w = ones.at(j) * std::sin(static_cast<double>(1 + row * 7 + position * 31 + j % size));
    }
    cotangents.push_back(std::move(weights));
  }
  const std::vector<HostTensor> gradients =
      eval(gradient_function(everything, cotangents), fn.arguments(), f64);
  std::vector<std::string> paths = fn.parameter_paths();
  paths.insert(paths.end(), fn.input_paths().begin(), fn.input_paths().end());
  size_t next = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!is_float(fn.arguments()[i].dtype())) continue;
    const HostTensor& gradient = gradients[next++];
    const bool is_input = i >= fn.parameter_paths().size();
    out.emplace("gradient by " + paths[i], is_input ? batch.tokens_of(gradient) : gradient);
  }
  return out;
}

inline void expect_same_numbers(const Tree<HostTensor>& actual, const Tree<HostTensor>& expected,
                                const char* what, bool same_shapes, bool may_be_none = false) {
  ASSERT_EQ(actual.size(), expected.size());
  bool has_results = false, has_gradients = false;
  for (const auto& [name, value] : expected) {
    const HostTensor& other = actual.at(name);
    if (!same_shapes && other.shape() != value.shape()) continue;
    has_results |= name.starts_with("result ") && value.size() > 0;
    has_gradients |= name.starts_with("gradient by ") && largest_element(value) > 0;
    EXPECT_LE(largest_difference(other, value), 1e-9 * std::max(1.0, largest_element(value)))
        << what << ": " << name;
  }
  EXPECT_TRUE(may_be_none || (has_results && has_gradients)) << what << ": nothing was compared";
}

// What padding holds does not matter, at the ends of rows or inside.
template <class L>
void law_content_of_padding_of(TestLayer<L>& layer, const typename L::Role::Dims& dims) {
  using Names = LawInputs<typename L::Role>;
  const Tree<HostTensor> base = Names::make(dims);
  const int64_t length = base.at(std::string(Names::kTokens)).shape()[1];
  const PaddedBatch one{2, length, length, 1}, other{2, length, length, 2, 1e30},
      inside{2, length, length, 1, 10, 1}, other_inside{2, length, length, 2, 1e30, 1};
  const CallOptions training{.training = true};
  expect_same_numbers(numbers_of_tokens(layer, base, other, training, true),
                      numbers_of_tokens(layer, base, one, training, true), "other padding", true);
  expect_same_numbers(numbers_of_tokens(layer, base, other_inside, training, true),
                      numbers_of_tokens(layer, base, inside, training, true),
                      "other padding inside", true);
}

// Of some layers padding may hold NaN.
template <class L>
void law_padding_of_nan(TestLayer<L>& layer, const typename L::Role::Dims& dims) {
  using Names = LawInputs<typename L::Role>;
  const Tree<HostTensor> base = Names::make(dims);
  const int64_t length = base.at(std::string(Names::kTokens)).shape()[1];
  const PaddedBatch one{2, length, length, 1}, nan{2, length, length, 2, std::nan("")};
  for (const CallOptions& options : {CallOptions{.training = true}, CallOptions{}}) {
    expect_same_numbers(numbers_of_tokens(layer, base, nan, options),
                        numbers_of_tokens(layer, base, one, options), "NaN in padding", true);
  }
}

// Nor does it matter how much there is.
template <class L>
void law_padding_of(TestLayer<L>& layer, const typename L::Role::Dims& dims) {
  using Names = LawInputs<typename L::Role>;
  law_content_of_padding_of(layer, dims);
  const Tree<HostTensor> base = Names::make(dims);
  const int64_t length = base.at(std::string(Names::kTokens)).shape()[1];
  const PaddedBatch one{2, length, length, 1}, other{2, length, length, 2, 1e30},
      shorter{2, length - 1, length, 3}, more_rows{4, length, length, 4};
  // Random numbers depend on the shape of the batch.
  bool draws = false;
  try {
    (void)numbers_of_tokens(layer, base, one, {.training = true, .seed = std::nullopt});
  } catch (const ConfigError&) {
    draws = true;
  }
  for (const bool is_training : {true, false}) {
    if (is_training && draws) continue;
    const CallOptions options{.training = is_training};
    const Tree<HostTensor> expected = numbers_of_tokens(layer, base, one, options);
    for (const auto& [batch, what] : {std::pair(&other, "other padding"),
                                      {&shorter, "less padding"},
                                      {&more_rows, "rows of padding"}}) {
      constexpr bool kMayBeNone = requires { Names::kMayMoveTokens; };
      expect_same_numbers(numbers_of_tokens(layer, base, *batch, options), expected, what, false,
                          kMayBeNone);
    }
  }
}

template <class L, class Cases>
void law_padding(const typename L::Role::Dims& dims, const Cases& cases) {
  using Names = LawInputs<typename L::Role>;
  if constexpr (
      requires { Names::kTokens; } && !requires { Names::kMovesTokens; }) {
    for (const auto& [name, config] : cases) {
      SCOPED_TRACE(name);
      TestLayer<L> layer(config, dims);
      law_padding_of(layer, dims);
    }
  }
}

}  // namespace axle::testing::detail
