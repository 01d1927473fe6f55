// Biases by the distance between query and key: ALiBi and T5.
#pragma once

#include <functional>

#include "config/fields.h"
#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/masks/attention_mask.h"

namespace axle {

// Biases that follow from the distance of query and key alone.
//
// Letters in tensor names, for these files only:
//   D distances   N query heads   T queries   S keys   C copies for the devices that share rows

/// A bias for each of D distances, from which the biases of queries and keys are taken.
class DistanceTable {
 public:
  /// `index_of` returns the row of the table for each distance, key position - query position.
  using IndexOf = std::function<Tensor(const Tensor& distance)>;
  DistanceTable(Tensor bias_DN, IndexOf index_of)
      : bias_DN_(std::move(bias_DN)), index_of_(std::move(index_of)) {}
  /// The same for several blocks of `num_rows` rows. Devices that share rows sum the gradient of
  /// the table. With a copy for each of them, every device adds up its own blocks first; the copies
  /// are summed once, after the last.
  DistanceTable with_copies_for(int64_t num_rows) const;
  /// Returns the bias of queries and keys at these positions: f32[N, T, S] or [B, N, T, S].
  Tensor operator()(const TokenPositions& positions) const;

 private:
  Tensor at_consecutive(const TokenPositions& positions) const;

  Tensor bias_DN_;
  IndexOf index_of_;
  Tensor copies_DCN_ = {};
  int64_t num_rows_ = 0;
};

// Attention with linear biases.
//
// Source: Press et al. 2022, arXiv 2108.12409, section 3; slopes as in its reference code.

/// Adds -slope[n] * |query position - key position| to the logits of head n.
///
/// With N = 2^k heads slope[n] = 2^(-8 (n + 1) / N). Other numbers of heads take the slopes of the
/// next lower power of two, then every second slope of the next higher one.
class ALiBi final : public LogitBias {
 public:
  struct Config {
    AXLE_CONFIG(ALiBi)
  };
  ALiBi(const Config&, const Dims& dims, const Scope& scope)
      : LogitBias(scope), num_heads_(dims.num_heads) {}
  /// Returns the slope of each head.
  static std::vector<float> slopes(int64_t num_heads);

 protected:
  Tensor forward(const TokenPositions& positions) override;
  BiasDependence own_dependence(const TokenPositions&) const override {
    return BiasDependence::kDistance;
  }

 private:
  int64_t num_heads_;
};

// Learned biases for buckets of distances.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 2.1; buckets as in its published code.

/// A number of buckets, or of positions that they cover.
using BucketNumber = Ranged<int64_t, Bounds{.min = 2, .max = 1 << 16}>;

/// Adds weight[bucket(key position - query position), n] to the logits of head n.
///
/// The first half of the buckets of a side holds one distance each, the others grow logarithmically
/// up to max_distance, and the last one holds all longer distances.
/// Layers share the biases of one of them by SharedBias and BorrowedBias, as T5 does.
/// Parameters: weight[num_buckets, num_heads]. Throws ConfigError at construction if a side has
/// fewer than 2 buckets, or if max_distance is not beyond the buckets of one distance.
class T5Bias final : public LogitBias {
 public:
  struct Config {
    /// Number of buckets, of both sides if `bidirectional` is set.
    BucketNumber num_buckets = 32;
    /// The last bucket begins at about this distance.
    BucketNumber max_distance = 128;
    /// True: the second half of the buckets is for keys after the query. False: those share the
    /// bucket of distance 0, for causal masks.
    bool bidirectional = false;
    AXLE_CONFIG(T5Bias, num_buckets, max_distance, bidirectional)
  };
  T5Bias(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const TokenPositions& positions) override;
  OfBlock unchecked_blocks(const TokenPositions& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPositions&) const override {
    return BiasDependence::kDistance;
  }

 private:
  // The bias of each distance from -max_distance to max_distance.
  DistanceTable table() const;

  int64_t max_distance_;
  std::vector<int32_t> buckets_;  // of the distances -max_distance to max_distance
  Param weight_;
};

}  // namespace axle
