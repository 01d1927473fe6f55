// Rotary position embeddings, wrapped around any projection of queries and keys.
//
// Letters in tensor names:
//   B batch   T positions   D model dim
//
// Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2. Parts of heads: Black et al. 2022, arXiv
//   2204.06745, section 2.1. Streams of positions (M-RoPE): Wang et al. 2024, arXiv 2409.12191,
//   section 2.1.
#pragma once

#include "layers/attention/qkv/qkv.h"
#include "layers/positions/rotation.h"

namespace axle {

/// Several positions for each token, such as time, height and width (M-RoPE).
struct PositionStreams {
  /// Numbers of pairs that each stream rotates, first pairs first: [16, 24, 24] in Qwen2-VL.
  std::vector<Positive<int64_t>> sections = {};
  /// The name under which the caller publishes the streams, i32 [number of sections, B, T]. If
  /// nothing is published, each stream is the positions of the tokens, as for text; training
  /// refuses that.
  std::string name = "position_streams";
  AXLE_CONFIG(PositionStreams, sections, name)
};

/// A fraction above 0: in (0, 1].
using PositiveFraction = Ranged<double, Bounds{.min = 0, .max = 1, .open_min = true}>;

/// Rotates each pair of elements of queries and keys by the angle position * frequency.
///
/// Angles are f32 for any dtype of x. Keys of a source (SourceQKV) take their positions in the
/// source; values too if `rotate_values` is set.
/// Throws ConfigError at construction if the part of a head that is rotated is not an even number
/// of elements, or if the sections do not sum to its number of pairs; in a training call, if there
/// are sections and nobody has published the streams.
class RoPE final : public WrappedQKV {
 public:
  struct Config {
    /// Base of the wavelengths, which grow from 2 pi to almost 2 pi theta positions before scaling.
    Positive<double> theta = 1e4;
    /// Computes the angle by which each pair rotates from one position to the next.
    FrequencyFn frequencies = PlainFrequencies{};
    /// Which elements form a pair: neighbours, or element i of both halves (Llama and GPT-NeoX in
    /// the format of Hugging Face).
    PairLayout pairs = PairLayout::kNeighbours;
    /// The fraction of each head, from its first element on, that is rotated.
    PositiveFraction fraction = 1;
    /// Assigns sections of the pairs positions of their own; none: all pairs rotate by the
    /// positions of the tokens.
    std::optional<PositionStreams> streams = {};
    /// True: values are rotated like keys.
    bool rotate_values = false;
    /// Computes the queries and keys to rotate.
    Child<QKV> inner = FusedQKV::Config{};
    static constexpr auto kFormerNames =
        std::to_array<FormerName>({{"turn_values", "rotate_values"}});
    AXLE_CONFIG(RoPE, theta, frequencies, pairs, fraction, streams, rotate_values, inner)
  };
  RoPE(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  int64_t rotated_dim(const Config& cfg, int64_t head_dim) const;
  Tensor angles(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) const;

  PairLayout pairs_;
  Frequencies frequencies_;
  std::optional<PositionStreams> streams_;
  bool rotate_values_;
};

}  // namespace axle
