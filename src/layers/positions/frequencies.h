// The role Frequencies of rotary embeddings, and the ways to change them for more positions than in
// training.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"

namespace axle {

// Frequencies of position embeddings by rotation, and how models stretch them to longer texts.
//
// Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2.

/// What frequencies are computed from.
struct FrequencySpec {
  /// Base of the wavelengths.
  double theta = 1e4;
  /// Number of elements that are rotated, two for each frequency; even.
  int64_t dim = 0;
};

/// Frequencies that fall with the length L of a text: they are multiplied by
/// (1 + factor * max(0, L - original_len) / original_len)^exponent.
struct BaseGrowth {
  double factor = 1;
  int64_t original_len = 1;
  /// One for each pair.
  std::vector<double> exponents;
};

struct Frequencies {
  /// The angle in radians by which each pair rotates from one position to the next, [dim / 2].
  std::vector<double> radians;
  /// The angles in texts whose positions reach `long_from`; empty: `radians` for all texts.
  std::vector<double> long_radians = {};
  int64_t long_from = 0;
  /// None: they do not fall.
  std::optional<BaseGrowth> growth = {};
  /// Factor of the rotated elements.
  double scale = 1;
};
using FrequencyFn = Fn<Frequencies(const FrequencySpec&)>;

/// Returns fn(spec). Throws ConfigError that begins with `path` if fn refuses its numbers or
/// returns another number of frequencies.
Frequencies checked_frequencies(const FrequencyFn& fn, const FrequencySpec& spec,
                                std::string_view path);

/// theta^(-2i / dim) for pair i.
struct PlainFrequencies {
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(PlainFrequencies)
};

// Position interpolation.
//
// Source: Chen et al. 2023, arXiv 2306.15595, section 2.3.

/// The plain frequencies divided by `factor`, as if positions were closer together.
struct LinearFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(LinearFrequencies, factor)
};

// NTK-aware scaling.
//
// Source: Peng et al. 2023, arXiv 2309.00071, section 3.1, definition 1.

/// The plain frequencies of the base theta * factor^(dim / (dim - 2)): the highest frequency stays,
/// the lowest one is divided by `factor`.
struct NTKFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(NTKFrequencies, factor)
};

// The frequencies of Tensor2Tensor.
//
// Source: Vaswani et al. 2018, arXiv 1803.07416, code; Whisper and AXLearn use them for sinusoidal
//   positions.

/// theta^(-i / (dim / 2 - 1)) for pair i, from 1 to 1 / theta. One pair has the frequency 1.
struct InclusiveFrequencies {
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(InclusiveFrequencies)
};

// The scaling of Llama 3.1.
//
// Source: Llama Team 2024, arXiv 2407.21783; the formula is that of its published code.

/// Keeps high frequencies, divides low ones by `factor`, and blends both between.
///
/// A frequency is high if it rotates more than high_freq_factor times in original_len positions,
/// low if it rotates less than low_freq_factor times. Throws ConfigError in a call unless
/// low_freq_factor < high_freq_factor.
struct Llama3Frequencies {
  /// Divisor of the low frequencies.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of rotations below which a frequency is low.
  Positive<double> low_freq_factor = 1;
  /// Number of rotations above which a frequency is high.
  Positive<double> high_freq_factor = 4;
  /// Number of positions that the model was first trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(Llama3Frequencies, factor, low_freq_factor, high_freq_factor, original_len)
};

// YaRN.
//
// Source: Peng et al. 2023, arXiv 2309.00071, sections 3.2 to 3.4; the range is that of its code.

/// Keeps pairs that rotate more than beta_fast times in original_len positions, divides by `factor`
/// the frequencies of pairs that rotate less than beta_slow times, and blends both between,
/// linearly in the index of the pair. Rotated elements are multiplied by attention_factor.
///
/// Throws ConfigError in a call unless beta_slow < beta_fast and theta > 1.
struct YaRNFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of positions that the model was first trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  /// Number of rotations above which a frequency is kept.
  Positive<double> beta_fast = 32;
  /// Number of rotations below which a frequency is divided by `factor`.
  Positive<double> beta_slow = 1;
  /// Factor of the rotated elements, so that its square is a factor of the logits; none: 0.1
  /// ln(factor) + 1.
  std::optional<Positive<double>> attention_factor = {};
  /// True: the blend begins and ends at whole indices, as in the published code.
  bool whole_indices = true;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(YaRNFrequencies, factor, original_len, beta_fast, beta_slow, attention_factor,
              whole_indices)
};

// Frequencies with a divisor for each pair: LongRoPE, and the factors that GGUF files hold.
//
// Source: Ding et al. 2024, arXiv 2402.13753, section 3.

/// The plain frequencies, each divided by a number of its own. Rotated elements are multiplied by
/// attention_factor.
///
/// A model may have other divisors for long texts, as Phi-3 has. A segment is long if one of its
/// positions is `original_len` or more. Keys in a cache stay as they were computed: a text that
/// grows beyond the length while it is decoded has keys of both kinds.
///
/// Throws ConfigError in a call unless there is a positive divisor for each pair, and a length if
/// there are divisors of long texts.
struct DividedFrequencies {
  /// The divisors, that of the highest frequency first.
  Required<std::vector<Positive<double>>> divisors = REQUIRED;
  /// The divisors of long texts; empty: there is no difference.
  std::vector<Positive<double>> long_divisors = {};
  /// The positions of texts that are not long.
  std::optional<Positive<int64_t>> original_len = {};
  /// Factor of the rotated elements, so that its square is a factor of the logits.
  Positive<double> attention_factor = 1;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(DividedFrequencies, divisors, long_divisors, original_len, attention_factor)
};

// Dynamic NTK-aware scaling: the base grows with the length of the text.
//
// Source: Peng et al. 2023, arXiv 2309.00071, section 3.3; the formula is that of transformers.

/// The plain frequencies in texts of up to original_len positions. In a text of L positions, more
/// than that, they use the base theta * (factor * L / original_len - factor + 1)^(dim / (dim - 2)).
/// A segment is as long as its largest position says. Keys in a cache stay as they were computed.
struct DynamicFrequencies {
  /// How much faster than the length the base grows.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of positions that the model was trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(DynamicFrequencies, factor, original_len)
};

}  // namespace axle
