#include "token_shift.h"

using namespace axle;

TokenShift::TokenShift(const Config&, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      model_dim_(dims.model_dim),
      now_(param("now", {.shape = {dims.model_dim}, .init = Ones{}})),
      before_(param("before", {.shape = {dims.model_dim}, .init = Zeros{}})) {}

Tree<StateSpec> TokenShift::decode_state_specs(const DecodeDims& dims) const {
  return {{join_path(path(), "last"), {.type = {dims.dtype, {dims.batch_size, model_dim_}}}}};
}

Tensor TokenShift::forward(const Tensor& x_BTD, const MixerContext& context) {
  const int64_t batch = x_BTD.dim(0), length = x_BTD.dim(1);
  const Tensor last_BD =
      decoding() ? astype(state("last"), x_BTD.dtype()) : zeros({batch, model_dim_}, x_BTD.dtype());
  Tensor earlier_BTD = slice_in_dim(concatenate({expand_dims(last_BD, 1), x_BTD}, 1), 1, 0, length);
  // In a packed row, a text's first token follows another text's last.
  if (context.positions)
    earlier_BTD = select(expand_dims(*context.positions > 0, -1), earlier_BTD, 0);
  if (decoding()) set_state("last", astype(context.last(x_BTD), state("last").dtype()));
  return x_BTD * now_() + earlier_BTD * before_();
}

AXLE_REGISTER(TokenShift)
