// Axle's laws for the layers of this project. UPDATE_GOLDEN=1 writes golden/.
#include <axle/testing.h>

#include "channel_gate.h"
#include "token_shift.h"

AXLE_LAYER_LAWS(ChannelGate, {.input_dim = 4}, {{"plain", {}}, {"steep", {.initial = 3}}})
AXLE_LAYER_LAWS(TokenShift, {.model_dim = 4}, {{"plain", {}}})
