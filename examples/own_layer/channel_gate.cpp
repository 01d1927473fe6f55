#include "channel_gate.h"

#include "gate_kernel.h"

using namespace axle;

ChannelGate::ChannelGate(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope),
      w_(param("w", {.shape = {dims.input_dim}, .init = Constant{.value = cfg.initial}})) {}

Tensor ChannelGate::forward(const Tensor& x) { return gated_by_channel(x, w_()); }

AXLE_REGISTER(ChannelGate)
