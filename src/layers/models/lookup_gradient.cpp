#include "layers/models/lookup_gradient.h"

#include <algorithm>

#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/dims.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"
#include "transform/grad.h"

namespace axle {
namespace {

// Splits x[B, T, ..] into the shards of devices: [P.., B', T', ..]. There is one dim P for each
// mesh axis that shards rows or positions, and each device holds one element of it.
class TokenParts {
 public:
  TokenParts(const Shape& shape_BT, const Mesh& mesh) {
    const PartitionSpec axes = restrict(kTokenAxes, shape_BT, mesh);
    num_row_axes_ = axes.dims.at(0).size();
    for (const DimAxes& dim : axes.dims) {
      for (const std::string& axis : dim) {
        axes_.dims.push_back(axis.c_str());
        sizes_.push_back(mesh.size(axis));
      }
    }
  }

  size_t rank() const { return sizes_.size(); }
  const Shape& sizes() const { return sizes_; }
  /// Mesh axes of the dims P.
  const PartitionSpec& axes() const { return axes_; }

  Tensor split(const Tensor& x_BT) const {
    Shape shape, order;
    for (size_t d = 0; d < 2; ++d) {
      const size_t first = d == 0 ? 0 : num_row_axes_, last = d == 0 ? num_row_axes_ : rank();
      int64_t rest = x_BT.dim(static_cast<int64_t>(d));
      for (size_t p = first; p < last; ++p) {
        order.push_back(std::ssize(shape));
        shape.push_back(sizes_[p]);
        rest /= sizes_[p];
      }
      shape.push_back(rest);
    }
    for (int64_t d = 2; d < x_BT.rank(); ++d) shape.push_back(x_BT.dim(d));
    order.push_back(static_cast<int64_t>(num_row_axes_));
    for (int64_t d = std::ssize(order); d < std::ssize(shape); ++d) order.push_back(d);
    return sharding_constraint(transpose(reshape(x_BT, shape), order), axes_);
  }

 private:
  size_t num_row_axes_ = 0;
  PartitionSpec axes_;
  Shape sizes_;
};

// Returns a spec with `parts`, then the weight's dims without the axes that are in `parts`.
PartitionSpec with_weight_axes(const std::vector<DimAxes>& parts,
                               const PartitionSpec& weight_axes) {
  PartitionSpec out{parts};
  for (DimAxes dim : weight_axes.dims) {
    std::erase_if(dim, [&](const std::string& axis) {
      return std::ranges::any_of(parts, [&](const DimAxes& part) { return part.front() == axis; });
    });
    out.dims.push_back(std::move(dim));
  }
  return out;
}

}  // namespace

Tensor lookup_gradient(const Tensor& weight_VD, const Tensor& ids_BT, const Tensor& g_BTD,
                       const PartitionSpec& partition, const Mesh& mesh) {
  const PartitionSpec weight_axes = restrict(partition, mesh);
  const TokenParts parts(ids_BT.shape(), mesh);
  Shape tables = parts.sizes();
  tables.insert(tables.end(), weight_VD.shape().begin(), weight_VD.shape().end());
  const int64_t num_part_dims = std::ssize(parts.sizes());
  const Tensor tables_PVD =
      broadcast_in_dim(weight_VD, tables, axis_range(num_part_dims, num_part_dims + 2));
  const Tensor ids = parts.split(ids_BT);
  const auto by_parts = [&](const Values& x) {
    return Values{batched_take(x[0], ids, num_part_dims)};
  };
  const Values gradients = vjp(by_parts, {tables_PVD}).pullback({parts.split(g_BTD)});

  std::vector<int64_t> summed_first;  // dims P with an axis of the weight, summed before the others
  std::vector<DimAxes> remaining_axes;  // axes of the other dims P
  for (size_t p = 0; p < parts.rank(); ++p) {
    const DimAxes& axis = parts.axes().dims[p];
    const bool divides_weight = std::ranges::any_of(weight_axes.dims, [&](const DimAxes& dim) {
      return std::ranges::find(dim, axis.front()) != dim.end();
    });
    if (divides_weight) {
      summed_first.push_back(static_cast<int64_t>(p));
    } else {
      remaining_axes.push_back(axis);
    }
  }
  const Tensor g_PVD =
      sharding_constraint(gradients[0], with_weight_axes(parts.axes().dims, weight_axes));
  const Tensor g_RVD = sharding_constraint(reduce_sum_in_own_dtype(g_PVD, summed_first),
                                           with_weight_axes(remaining_axes, weight_axes));
  return reduce_sum_in_own_dtype(g_RVD, axis_range(0, std::ssize(remaining_axes)));
}

}  // namespace axle
