// Learned biases for buckets of distances.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 2.1; buckets as in its published code.
#pragma once

#include "config/fields/ranged.h"
#include "layers/attention/biases/distance_table.h"
#include "layers/attention/biases/logit_bias.h"

namespace axle {

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
  Tensor forward(const TokenPlaces& places) override;
  OfBlock unchecked_blocks(const TokenPlaces& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPlaces&) const override {
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
