#include "layers/models/embedding.h"

#include <algorithm>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "layers/models/lookup_gradient.h"
#include "nn/role_methods.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "transform/custom_vjp.h"

namespace axle {

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

}  // namespace axle
