#include "layers/embedding.h"

#include <algorithm>
#include <array>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/role_methods.h"
#include "ops/annotate.h"
#include "ops/broadcast.h"
#include "ops/dot.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "transform/custom_vjp.h"
#include "transform/grad.h"

namespace axle {

Tensor TokenEmbedding::attend(const Tensor& x_BTD) {
  const Invocation::Frame frame(*this);
  return attend_forward(x_BTD);
}

std::vector<Method> TokenEmbedding::methods() {
  std::vector<Method> all = LayerRole::methods();
  all.push_back(method<Tensor, const Tensor&>("attend", kAttendInputs,
                                              [this](const Tensor& x) { return attend(x); }));
  return all;
}

namespace {

auto is_among(const DimAxes& axes) {
  return [&axes](const std::string& axis) { return std::ranges::find(axes, axis) != axes.end(); };
}

}  // namespace

Embedding::Embedding(const Config& cfg, const Dims& dims, const Scope& scope)
    : TokenEmbedding(scope),
      weight_(param("weight", {.shape = {dims.vocab_size, dims.model_dim},
                               .mesh_axes = {kReplicated, kShardAxes},
                               .init = cfg.init})),
      table_axes_{.dims = param_specs().at(weight_.path()).mesh_axes} {
  for (DimAxes& axes : table_axes_.dims) std::erase_if(axes, is_among(kModelDimAxes));
}

// Gathered from the devices that only keep parts of it: a lookup in parts would move every token.
Tensor Embedding::table() const { return constrain(weight_(), table_axes_); }

namespace {

// Tokens as devices hold them: x[B, T, ..] as [P, Q, B/P, T/Q, ..], the first two dims divided over
// the mesh and so one part on each device.
struct TokenParts {
  TokenParts(const Shape& shape_BT, const Mesh& mesh) : axes(restrict(kTokenAxes, shape_BT, mesh)) {
    for (size_t d = 0; d < 2; ++d) {
      for (const std::string& axis : axes.dims.at(d)) num_parts[d] *= mesh.size(axis);
    }
  }
  Tensor split(const Tensor& x_BT) const {
    Shape parts = {num_parts[0], x_BT.dim(0) / num_parts[0], num_parts[1],
                   x_BT.dim(1) / num_parts[1]};
    std::vector<int64_t> order = {0, 2, 1, 3};
    for (int64_t d = 2; d < x_BT.rank(); ++d) {
      parts.push_back(x_BT.dim(d));
      order.push_back(d + 2);
    }
    return sharding_constraint(transpose(reshape(x_BT, parts), order), axes);
  }

  PartitionSpec axes;
  std::array<int64_t, 2> num_parts = {1, 1};
};

// A table [P, Q, V, D] for each part of the tokens, laid out by `table_axes` beside the parts.
PartitionSpec axes_of_tables(const PartitionSpec& table_axes, const TokenParts& parts) {
  PartitionSpec axes = parts.axes;
  for (const DimAxes& dim : table_axes.dims) {
    DimAxes& free = axes.dims.emplace_back(dim);
    for (const DimAxes& taken : parts.axes.dims) std::erase_if(free, is_among(taken));
  }
  return axes;
}

Tensor look_up_by_parts(const Tensor& tables_PQVD, const Tensor& ids_PQBT) {
  return gather(tables_PQVD, ids_PQBT,
                {.offset = {4},
                 .collapsed = {2},
                 .operand_batch = {0, 1},
                 .indices_batch = {0, 1},
                 .index_map = {2},
                 .index_vector_dim = 4},
                {1, 1, 1, tables_PQVD.dim(3)});
}

// The gradient of `table_VD`, which `ids_BT` were looked up in. A sum over the tokens of each
// device in f32, as every gather's is, but between devices in the table's dtype, as the gradient of
// attend is. So compilers make one sum between devices of both.
Tensor lookup_gradient(const Tensor& table_VD, const Tensor& ids_BT, const Tensor& g_BTD,
                       const PartitionSpec& table_axes, const TokenParts& parts) {
  const PartitionSpec axes = axes_of_tables(table_axes, parts);
  const Tensor ids = parts.split(ids_BT);
  const auto by_parts = [&](const Values& tables) {
    return Values{look_up_by_parts(tables[0], ids)};
  };
  const Tensor tables_PQVD = broadcast_in_dim(
      table_VD, {parts.num_parts[0], parts.num_parts[1], table_VD.dim(0), table_VD.dim(1)}, {2, 3});
  const Values gradients = vjp(by_parts, {tables_PQVD}).pullback({parts.split(g_BTD)});
  return reduce_sum_in_own_dtype(sharding_constraint(gradients[0], axes), {0, 1});
}

}  // namespace

Tensor Embedding::forward(const Tensor& ids_BT) {
  const TokenParts parts(ids_BT.shape(), Invocation::current().options().mesh);
  const CustomVjp lookup{
      .name = "lookup",
      .forward =
          [](const Values& x) {
            return WithResiduals{{take(x[0], x[1])}, x};
          },
      .backward = [parts, axes = table_axes_](const Values& x, const Values& g_BTD) -> Values {
        return {lookup_gradient(x[0], x[1], g_BTD[0], axes, parts), Tensor()};
      }};
  const bool divided = parts.num_parts[0] * parts.num_parts[1] > 1;
  return constrain(divided ? custom_vjp(lookup, {table(), ids_BT})[0] : take(table(), ids_BT),
                   kTokenAxes);
}

Tensor Embedding::attend_forward(const Tensor& x_BTD) {
  return einsum("...d,vd->...v", x_BTD, table());
}

const RoleMethods embedding_methods(typeid(TokenEmbedding),
                                    {{"attend", TokenEmbedding::kAttendInputs}});

AXLE_REGISTER(TokenEmbedding::Dims)
AXLE_REGISTER(Embedding)

}  // namespace axle
