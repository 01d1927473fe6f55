// Dispatch without capacity: tokens are sorted by expert, and each expert takes all of its tokens.
//
// Source: Gale et al. 2022, "MegaBlocks", arXiv 2211.15841, section 4.
#pragma once

#include "layers/experts/dispatch.h"

namespace axle {

/// Runs each expert on exactly the tokens that chose it, by ragged products. No choice is dropped
/// and no slot is empty, whatever the loads are. Results are summed over choices in f32.
///
/// On a mesh, each device sorts its own tokens. Over the mesh axis `expert`, a device sends them to
/// the devices of their experts and gets the results back (ragged_all_to_all). Its buffer for what
/// it receives holds the largest possible load, so that nothing is dropped there either: with P
/// devices along the axis and N tokens on each, P * N * min(K, E / P) rows. The rows that are not
/// used are zeros and cost time in products.
class SortedDispatch final : public Dispatch {
 public:
  struct Config {
    AXLE_CONFIG(SortedDispatch)
  };
  SortedDispatch(const Config&, const Dims& dims, const Scope&) : num_experts_(dims.num_experts) {}
  Dispatched run(const Tensor& x_BTD, const Routing& routing,
                 const Experts& experts) const override;

 private:
  Tensor on_devices(const Tensor& x_BTD, const Routing& routing, const Experts& experts) const;

  int64_t num_experts_;
};

}  // namespace axle
