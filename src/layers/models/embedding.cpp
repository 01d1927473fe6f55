#include "layers/models/embedding.h"

#include <algorithm>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/layer_role.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/grad.h"

namespace axle {

double RootOfDim::operator()(int64_t dim) const { return std::sqrt(static_cast<double>(dim)); }

AXLE_REGISTER(RootOfDim)
AXLE_REGISTER(ConstantScale)

Tensor TokenEmbedding::attend(const Tensor& x_BTD) {
  const Invocation::Frame frame(*this);
  Tensor logits_BTV = attend_forward(x_BTD);
  Type expected = x_BTD.type();
  expected.dims.back() = vocab_size();
  expect_result(logits_BTV, expected, "logits");
  return logits_BTV;
}

void TokenEmbedding::check_result(const Tensor& x_BTD, const Tensor& ids_BT) const {
  // Any dtype of floating point: that of the table.
  const bool is_floating = x_BTD && is_float(x_BTD.dtype());
  Type expected{is_floating ? x_BTD.dtype() : DType::kF32, ids_BT.shape()};
  expected.dims.push_back(given_dims() ? int64_t{given_dims()->model_dim} : kAnySize);
  expect_result(x_BTD, expected);
}

std::vector<Method> TokenEmbedding::methods() {
  std::vector<Method> all = LayerRole::methods();
  all.push_back(method<Tensor, const Tensor&>("attend", kAttendInputs,
                                              [this](const Tensor& x) { return attend(x); }));
  return all;
}

namespace {

Tensor times(const Tensor& x, double factor) {
  return astype(astype(x, wide_dtype(x.dtype())) * factor, x.dtype());
}

}  // namespace

Embedding::Embedding(const Config& cfg, const Dims& dims, const Scope& scope)
    : TokenEmbedding(scope),
      vocab_size_(dims.vocab_size),
      scale_(cfg.scale ? std::optional((*cfg.scale)(dims.model_dim)) : std::nullopt),
      attend_scale_(cfg.attend_scale),
      weight_(param("weight", {.shape = {dims.vocab_size, dims.model_dim},
                               .mesh_axes = {kReplicated, kShardAxes},
                               .init = cfg.init})),
      table_axes_(without_model_dim_axes(param_specs().at(weight_.path()).partition())),
      product_(child("product", cfg.product,
                     product_dims("...d,vd->...v", *this, weight_, WeightUse::kRowsToo))) {}

Tensor Embedding::forward(const Tensor& ids_BT) {
  const Tensor x_BTD = look_up(ids_BT);
  return scale_ ? times(x_BTD, *scale_) : x_BTD;
}

Tensor Embedding::look_up(const Tensor& ids_BT) {
  const Mesh& mesh = Invocation::current().options().mesh;
  const auto rows_of = [this](const Tensor& weight, const Tensor& ids) {
    return product_->rows(weight, ids, table_axes_);
  };
  const PartitionSpec tokens = restrict(kTokenAxes, ids_BT.shape(), mesh);
  const bool divided =
      std::ranges::any_of(tokens.dims, [](const DimAxes& axes) { return !axes.empty(); });
  // Nothing has a gradient of codes.
  if (!divided || weight_.is_held()) return constrain(rows_of(weight_(), ids_BT), kTokenAxes);

  const CustomVjp lookup{.name = "lookup",
                         .forward =
                             [rows_of](const Values& x) {
                               return WithResiduals{{rows_of(x[0], x[1])}, x};
                             },
                         .backward = [axes = param_specs().at(weight_.path()).partition(), mesh](
                                         const Values& x, const Values& g_BTD) -> Values {
                           return {lookup_gradient(x[0], x[1], g_BTD[0], axes, mesh), Tensor()};
                         }};
  return constrain(custom_vjp(lookup, {weight_(), ids_BT})[0], kTokenAxes);
}

Tensor Embedding::attend_forward(const Tensor& x_BTD) {
  const Tensor logits_BTV = product_(x_BTD, weight_());
  return attend_scale_ == 1 ? logits_BTV : times(logits_BTV, attend_scale_);
}

const RoleMethods embedding_methods(typeid(TokenEmbedding),
                                    {{"attend", TokenEmbedding::kAttendInputs}});

AXLE_REGISTER(TokenEmbedding::Dims)
AXLE_REGISTER(Embedding)

template class LayerRole<TokenEmbedding, TokenEmbedding::Signature>;

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
