// The role Dispatch: brings tokens to their experts and the results back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layers/experts/router.h"
#include "layers/experts/token_groups.h"

namespace axle {

/// The experts of a mixture.
struct Experts {
  /// Runs the experts whose parameters the current invocation has. Without sizes: x[E, .., D] ->
  /// y[E, .., D], where dim 0 counts the experts. With sizes i32[E]: x_MD -> y_MD, where the rows
  /// are sorted by expert and sizes counts those of each.
  std::function<Tensor(const Tensor& x, const std::optional<Tensor>& sizes_E)> run;
  /// Paths of their parameters. Dim 0 of each counts the experts.
  std::vector<std::string> parameters = {};

  Tensor operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
    return run(x, sizes_E);
  }
};

struct Dispatched {
  /// The sum over choices of weight * expert(x): [B, T, D], dtype of x.
  Tensor y_BTD;
  /// f32[K]: the share of first, second, .. choices that no expert took; none: all were taken.
  std::optional<Tensor> dropped_K = {};
};

/// Runs the experts on the tokens that a router sends them. Padding (real_tokens) of x_BTD is zeros
/// and its weights are 0; a dispatch whose experts have few places gives it none.
class Dispatch {
 public:
  using Role = Dispatch;
  struct Dims {
    int64_t num_experts;
  };
  virtual ~Dispatch() = default;
  /// Returns the number of groups of tokens whose loads count apart; any, if each row is one.
  virtual int64_t num_groups() const { return 1; }
  /// Returns what the borders between these groups count in training (borders_of_call).
  virtual GroupBorders train_borders() const { return GroupBorders::kTokens; }
  /// True if an expert may be too full to take a token.
  virtual bool may_drop() const { return false; }
  /// Throws ShapeError if the tokens do not form these groups.
  virtual Dispatched run(const Tensor& x_BTD, const Routing& routing,
                         const Experts& experts) const = 0;
};

}  // namespace axle
