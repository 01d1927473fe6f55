#include "layers/attention/qkv/head_projection.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {
namespace {

ParamSpec weight_spec(const HeadDims& dims, FanAxes fan) {
  return {.shape = {dims.model_dim, dims.num_heads, dims.head_dim},
          .mesh_axes = {kModelDimAxes, kShardAxes, kReplicated},
          .fan = std::move(fan)};
}

// Repeats each head of a weight [D, K, H] for the devices that share it. The weight is all-gathered
// along the heads first: otherwise devices would exchange parts of heads one by one.
Tensor repeat_heads(const Tensor& weight, int64_t copies) {
  const Tensor whole = sharding_constraint(weight, {{kModelDimAxes, kReplicated, kReplicated}});
  return sharding_constraint(repeat(whole, copies, 1), {{kModelDimAxes, kShardAxes, kReplicated}});
}

}  // namespace

int64_t num_head_copies(int64_t num_heads, int64_t num_query_heads) {
  const Mesh& mesh = Invocation::current().options().mesh;
  const PartitionSpec heads = restrict(PartitionSpec{{kShardAxes}}, mesh);
  const int64_t devices = num_parts(heads, mesh);
  const bool shared = devices > num_heads && devices % num_heads == 0;
  return shared && num_query_heads % devices == 0 ? devices / num_heads : 1;
}

void HeadInput::check_result(const Tensor& y_BTNH, const Tensor& x_BTD) const {
  if (!given_dims()) return;
  const HeadDims& dims = *given_dims();
  Type expected{x_BTD.dtype(), {x_BTD.dim(0), x_BTD.dim(1), dims.num_heads, dims.head_dim}};
  // Heads may be repeated for the devices that share them.
  if (y_BTNH && y_BTNH.rank() == 4 && dims.num_query_heads && !decoding() &&
      y_BTNH.dim(2) == dims.num_heads * num_head_copies(dims.num_heads, *dims.num_query_heads))
    expected.dims[2] = y_BTNH.dim(2);
  expect_result(y_BTNH, expected);
}

void HeadOutput::check_arguments(const Tensor& x_BTNH) const {
  if (!given_dims() || x_BTNH.dim(2) == given_dims()->num_heads) return;
  throw ShapeError(fmt::format("{}: expected {} heads for 'x' of {}, got {}", where(),
                               int64_t{given_dims()->num_heads}, short_type_name(typeid(*this)),
                               to_text(x_BTNH.type())));
}

void HeadOutput::check_result(const Tensor& y_BTD, const Tensor& x_BTNH) const {
  if (!given_dims()) return;
  expect_result(y_BTD, {x_BTNH.dtype(), {x_BTNH.dim(0), x_BTNH.dim(1), given_dims()->model_dim}});
}

HeadInputLinear::HeadInputLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : HeadInput(scope),
      dims_(dims),
      weight_(param("weight", weight_spec(dims, {.in = {-3}, .out = {-2, -1}}))),
      product_(child("product", cfg.product, product_dims("btd,dnh->btnh", *this, weight_))) {
  if (cfg.bias) {
    bias_ = param("bias", {.shape = {dims.num_heads, dims.head_dim},
                           .mesh_axes = {kShardAxes, kReplicated},
                           .init = Zeros{},
                           .fan = {.in = {}, .out = {}}});
  }
}

Tensor HeadInputLinear::forward(const Tensor& x_BTD) {
  // While decoding, heads are not repeated, since caches keep each head once.
  const int64_t copies = dims_.num_query_heads && !decoding()
                             ? num_head_copies(dims_.num_heads, *dims_.num_query_heads)
                             : 1;
  const Tensor weight = copies == 1 ? weight_() : repeat_heads(weight_(), copies);
  const Tensor y_BTNH = product_(x_BTD, weight);
  return bias_ ? y_BTNH + repeat((*bias_)(), copies, 0) : y_BTNH;
}

HeadOutputLinear::HeadOutputLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : HeadOutput(scope),
      weight_(param("weight", weight_spec(dims, {.in = {-2, -1}, .out = {-3}}))),
      product_(child("product", cfg.product, product_dims("btnh,dnh->btd", *this, weight_))) {
  if (cfg.bias)
    bias_ =
        param("bias", {.shape = {dims.model_dim}, .mesh_axes = {kModelDimAxes}, .init = Zeros{}});
}

Tensor HeadOutputLinear::forward(const Tensor& x_BTNH) {
  const Tensor y_BTD = product_(x_BTNH, weight_());
  return bias_ ? y_BTD + (*bias_)() : y_BTD;
}

AXLE_REGISTER(HeadDims)
AXLE_REGISTER(HeadInputLinear)
AXLE_REGISTER(HeadOutputLinear)

template class LayerRole<HeadInput, HeadInput::Signature>;
template class LayerRole<HeadOutput, HeadOutput::Signature>;

}  // namespace axle
