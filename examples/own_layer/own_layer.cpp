// Layers and recipes outside of Axle's tree: no line of the library changes, and every verb knows
// them.
#include "channel_gate.h"
#include "token_shift.h"

namespace {

using namespace axle;

/// The quickstart recipe with the gate in place of the decoder's output norm.
Trainer::Config gated_quickstart() {
  Trainer::Config cfg = recipe("quickstart");
  replace_config<RMSNorm>(cfg, ChannelGate::Config{}, {.at = "model.decoder.output_norm"});
  return cfg;
}

/// The same recipe with token shift in place of attention: each layer looks back one more token.
Trainer::Config shift_quickstart() {
  Trainer::Config cfg = gated_quickstart();
  replace_config<Attention>(cfg, TokenShift::Config{});
  return cfg;
}

}  // namespace

AXLE_REGISTER(gated_quickstart, "gated-quickstart")
AXLE_REGISTER(shift_quickstart, "shift-quickstart")

int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
