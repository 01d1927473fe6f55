// How the tokens of a batch are divided into groups, each of which has its own places of experts.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   N groups   S places of a group   M = B * T = N * S
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/text/enum_text.h"
#include "ir/tensor.h"

namespace axle {

/// What borders between groups count. kPlaces: each group has the same number of consecutive
/// positions, so that no token moves. kTokens: each has the same number of tokens, give or take
/// one, wherever padding is. kRows: each row is a group, so that neither happens.
enum class GroupBorders : uint8_t { kPlaces, kTokens, kRows };
constexpr auto texts_of(GroupBorders) {
  return std::to_array<EnumText<GroupBorders>>({{GroupBorders::kPlaces, "places"},
                                                {GroupBorders::kTokens, "tokens"},
                                                {GroupBorders::kRows, "rows"}});
}
/// Returns those of a call of a layer that has `in_training`: evaluation never counts places.
constexpr GroupBorders borders_of_call(GroupBorders in_training, bool is_training) {
  return is_training || in_training == GroupBorders::kRows ? in_training : GroupBorders::kTokens;
}

class TokenGroups {
 public:
  /// `x` is [B, T, ..]; B * T must be a multiple of num_groups, which does not count for kRows.
  /// `is_real` is bool[B, T, ..] with B * T elements; none: all positions hold tokens.
  TokenGroups(const Tensor& x, int64_t num_groups, const std::optional<Tensor>& is_real,
              GroupBorders borders);

  /// Number of groups.
  int64_t count() const { return groups_; }
  /// Number of places of a group.
  int64_t size() const { return size_; }
  /// bool[N, S]: places that hold tokens; none: all do.
  const std::optional<Tensor>& is_real() const { return is_real_NS_; }
  /// [B, T, ..] -> [N, S, ..]. Places without a token hold any of them.
  Tensor divided(const Tensor& t_BT) const;
  /// [N, S, ..] -> [B, T, ..], zeros for padding.
  Tensor joined(const Tensor& t_NS) const;

 private:
  void divide_tokens(const Tensor& is_real_M);

  int64_t rows_, length_, groups_, size_;
  std::optional<Tensor> is_real_NS_ = {};
  // Where tokens move, for GroupBorders::kTokens.
  struct Moves {
    Tensor position_NS;  // i32: the position of each place
    Tensor place_M;      // i32: the place of each position
    Tensor is_real_M;    // bool: positions that hold tokens
  };
  std::optional<Moves> moves_ = {};
};

}  // namespace axle
