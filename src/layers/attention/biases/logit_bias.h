// Biases of attention logits: the role, a sum of several, and one that layers share.
#pragma once

#include <functional>

#include "layers/attention/masks/attention_mask.h"
#include "nn/layer.h"

namespace axle {

// The role LogitBias: what is added to the logits of attention.
//
// Letters in tensor names from here on:
//   B batch   T queries   S keys   N query heads

/// What the bias of a query and a key follows from.
enum class BiasDependence : uint8_t {
  kAll,        // other positions, random numbers; or a call does more, such as adding a loss
  kPositions,  // the positions of the two
  kDistance,   // the distance between them
};

/// positions -> bias f32 [N, T, S] or [B, N, T, S].
class LogitBias : public LayerRole<LogitBias, Tensor(const TokenPositions& positions)> {
 public:
  /// The sizes of the bias, given by attention.
  struct Dims {
    /// Number of query heads.
    Positive<int64_t> num_heads;
    AXLE_CONFIG(Dims, num_heads)
  };
  static constexpr InputNames kInputs = {"positions"};
  using LayerRole::LayerRole;
  /// Biases look at the positions that they are given.
  bool can_decode() const override { return true; }
  /// What the bias of a query and a key depends on in a call with these positions. Statistics of
  /// the slot depend on all positions.
  BiasDependence dependence(const TokenPositions& all) const {
    return options().stats.empty() ? own_dependence(all) : BiasDependence::kAll;
  }
  /// The bias of a block as a function of its positions.
  using OfBlock = std::function<Tensor(const TokenPositions& positions)>;
  /// Returns the bias of each of several blocks of a call with these positions, which all have
  /// `num_rows` rows. It is called once for all of them, and computes what they have in common.
  /// Needs dependence(all) other than kAll.
  OfBlock of_blocks(const TokenPositions& all, int64_t num_rows);

 protected:
  /// The default is right for every bias. Attention by blocks computes such a bias for all
  /// positions at once.
  virtual BiasDependence own_dependence(const TokenPositions&) const {
    return BiasDependence::kAll;
  }
  /// of_blocks() without a check of what a block gets. The default computes each block as a call
  /// does.
  virtual OfBlock unchecked_blocks(const TokenPositions& all, int64_t num_rows);

  friend LayerRole;
  void check_result(const Tensor& bias, const TokenPositions& positions) const;
};

extern template class LayerRole<LogitBias, LogitBias::Signature>;

/// Adds all `biases` to the logits. Throws ConfigError at construction if `biases` is empty.
class SumOfBiases final : public LogitBias {
 public:
  struct Config {
    /// The biases to add.
    std::vector<Child<LogitBias>> biases = {};
    AXLE_CONFIG(SumOfBiases, biases)
  };
  SumOfBiases(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const TokenPositions& positions) override;
  OfBlock unchecked_blocks(const TokenPositions& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPositions& all) const override;

 private:
  std::vector<Handle<LogitBias>> biases_;
};

// Biases that several layers share.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 2.1: the layers of T5 share one bias.

/// Computes a bias and lets later layers add it too, by BorrowedBias. Their queries and keys must
/// have the same positions as in this layer.
///
/// Where positions are in order and the bias follows from distances, it is published by distance,
/// f32[1, N, 2 M - 1] with M the larger of T and S, so that no layer needs a bias of T x S
/// elements. Another one is published as f32[B, N, T, S], or f32[1, N, T, S] if it is the same for
/// all rows: a pipeline splits what has rows.
class SharedBias final : public LogitBias {
 public:
  struct Config {
    /// The name under which the bias is published.
    std::string name = "bias";
    /// Computes the bias.
    Child<LogitBias> inner = {};
    AXLE_CONFIG(SharedBias, name, inner)
  };
  SharedBias(const Config& cfg, const Dims& dims, const Scope& scope)
      : LogitBias(scope), name_(cfg.name), inner_(child("inner", cfg.inner, dims)) {}

 protected:
  Tensor forward(const TokenPositions& positions) override;
  OfBlock unchecked_blocks(const TokenPositions& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPositions& all) const override;

 private:
  bool shares_distances(const TokenPositions& all) const;

  std::string name_;
  Handle<LogitBias> inner_;
};

/// Adds the bias that an earlier layer shares (SharedBias).
///
/// Throws ConfigError in a call if no earlier layer has published the name, ShapeError if that
/// layer has other positions.
class BorrowedBias final : public LogitBias {
 public:
  struct Config {
    /// The name under which the bias was published.
    std::string name = "bias";
    AXLE_CONFIG(BorrowedBias, name)
  };
  BorrowedBias(const Config& cfg, const Dims&, const Scope& scope)
      : LogitBias(scope), name_(cfg.name) {}

 protected:
  Tensor forward(const TokenPositions& positions) override;
  OfBlock unchecked_blocks(const TokenPositions& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPositions& all) const override;

 private:
  // Returns what the owner published, after a check that it fits these positions.
  Tensor of_owner(const TokenPositions& positions) const;

  std::string name_;
};

}  // namespace axle
