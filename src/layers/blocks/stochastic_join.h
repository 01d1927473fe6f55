// A residual whose branch is dropped at random.
#pragma once

#include "layers/blocks/join.h"
#include "layers/dropout/stochastic_depth.h"

namespace axle {

/// z = join(x, drop(y)): training leaves out the body's result in some rows of the batch.
class StochasticJoin final : public Join {
 public:
  struct Config {
    /// Drops y.
    Child<StochasticDepth> drop = StochasticDepth::Config{};
    /// Joins x with what is left of y.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(StochasticJoin, drop, join)
  };
  StochasticJoin(const Config& cfg, const Dims&, const Scope& scope)
      : Join(scope), drop_(child("drop", cfg.drop, {})), join_(child("join", cfg.join, {})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Handle<StochasticDepth> drop_;
  Handle<Join> join_;
};

}  // namespace axle
