#include "layers/embedding.h"

#include <algorithm>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/role_methods.h"
#include "ops/annotate.h"
#include "ops/dot.h"
#include "ops/index.h"
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

// `axes` without those that `taken` names.
DimAxes without(DimAxes axes, const DimAxes& taken) {
  std::erase_if(
      axes, [&](const std::string& axis) { return std::ranges::find(taken, axis) != taken.end(); });
  return axes;
}

}  // namespace

Embedding::Embedding(const Config& cfg, const Dims& dims, const Scope& scope)
    : TokenEmbedding(scope),
      weight_(param("weight", {.shape = {dims.vocab_size, dims.model_dim},
                               .mesh_axes = {kReplicated, kShardAxes},
                               .init = cfg.init})),
      weight_axes_(param_specs().at(weight_.path()).partition()) {}

// Gathered from the devices that only keep parts of it: a lookup in parts would move every token.
// The gradient is only wanted where the parameter lies.
Tensor Embedding::table() const {
  PartitionSpec gathered = weight_axes_;
  for (DimAxes& axes : gathered.dims) axes = without(std::move(axes), kModelDimAxes);
  return sharding_constraint(weight_(), gathered, weight_axes_);
}

// Each device sums the columns of the gradient that it keeps, over the tokens of all: a token's
// vector moves once, where a sum of whole tables would move the vocabulary.
Tensor Embedding::forward(const Tensor& ids_BT) {
  const DimAxes& columns = weight_axes_.dims[1];
  const DimAxes rows_axes = without(kBatchAxes, columns);
  const PartitionSpec ids_axes = {{rows_axes, without(kSequenceAxes, columns)}};
  // Rows move first, then positions: the compiler knows no step for both together.
  const PartitionSpec rows_moved = {{rows_axes, kSequenceAxes, without(columns, kSequenceAxes)}};
  const PartitionSpec all_moved = {{ids_axes.dims[0], ids_axes.dims[1], columns}};
  const CustomVjp lookup{
      .name = "lookup",
      .forward =
          [](const Values& x) {
            return WithResiduals{{take(x[0], x[1])}, x};
          },
      .backward = [=](const Values& x, const Values& g_BTD) -> Values {
        const Tensor ids = sharding_constraint(x[1], ids_axes);
        const Tensor g = sharding_constraint(sharding_constraint(g_BTD[0], rows_moved), all_moved);
        const auto look_up = [&](const Values& table) { return Values{take(table[0], ids)}; };
        return {vjp(look_up, {x[0]}).pullback({g})[0], Tensor()};
      }};
  return constrain(custom_vjp(lookup, {table(), ids_BT})[0], kTokenAxes);
}

Tensor Embedding::attend_forward(const Tensor& x_BTD) {
  return einsum("...d,vd->...v", x_BTD, table());
}

const RoleMethods embedding_methods(typeid(TokenEmbedding),
                                    {{"attend", TokenEmbedding::kAttendInputs}});

AXLE_REGISTER(TokenEmbedding::Dims)
AXLE_REGISTER(Embedding)

}  // namespace axle
