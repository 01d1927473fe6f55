// The role LogitBias: what is added to the logits of attention.
//
// Letters in tensor names, for this file only:
//   B batch   T queries   S keys   N query heads
#pragma once

#include <functional>

#include "layers/attention/masks/attention_mask.h"
#include "nn/layer.h"

namespace axle {

/// What the bias of a query and a key follows from.
enum class BiasDependence : uint8_t {
  kAll,       // other places, random numbers; or a call does more, such as adding a loss
  kPlaces,    // the places of the two
  kDistance,  // the distance between them
};

/// places -> bias f32 [N, T, S] or [B, N, T, S].
class LogitBias : public LayerRole<LogitBias, Tensor(const TokenPlaces& places)> {
 public:
  /// The sizes of the bias, given by attention.
  struct Dims {
    /// Number of query heads.
    Positive<int64_t> num_heads;
    AXLE_CONFIG(Dims, num_heads)
  };
  static constexpr InputNames kInputs = {"places"};
  using LayerRole::LayerRole;
  /// Biases look at the positions that they are given.
  bool can_decode() const override { return true; }
  /// What the bias of a query and a key depends on in a call with these places. Statistics of the
  /// slot depend on all places.
  BiasDependence dependence(const TokenPlaces& all) const {
    return options().stats.empty() ? own_dependence(all) : BiasDependence::kAll;
  }
  /// The bias of a block as a function of its places.
  using OfBlock = std::function<Tensor(const TokenPlaces& places)>;
  /// Returns the bias of each of several blocks of a call with these places, which all have
  /// `num_rows` rows. It is called once for all of them, and computes what they have in common.
  /// Needs dependence(all) other than kAll.
  OfBlock of_blocks(const TokenPlaces& all, int64_t num_rows);

 protected:
  /// The default is right for every bias. Attention by blocks computes such a bias for all places
  /// at once.
  virtual BiasDependence own_dependence(const TokenPlaces&) const { return BiasDependence::kAll; }
  /// of_blocks() without a check of what a block gets. The default computes each block as a call
  /// does.
  virtual OfBlock unchecked_blocks(const TokenPlaces& all, int64_t num_rows);

  friend LayerRole;
  void check_result(const Tensor& bias, const TokenPlaces& places) const;
};

extern template class LayerRole<LogitBias, LogitBias::Signature>;

}  // namespace axle
