// Layers and recipes outside of Axle's tree: no line of the library changes, and every verb knows
// them.
#include "channel_gate.h"
#include "token_shift.h"

namespace {

using namespace axle;

/// The quickstart with the gate in place of the norm at the decoder's end.
Trainer::Config gated_quickstart() {
  Trainer::Config cfg = recipe("quickstart");
  replace_config<RMSNorm>(cfg, ChannelGate::Config{}, {.at = "model.decoder.output_norm"});
  return cfg;
}

/// The same without attention: each layer sees one token more of the past.
Trainer::Config shift_quickstart() {
  Trainer::Config cfg = gated_quickstart();
  replace_config<Attention>(cfg, TokenShift::Config{});
  return cfg;
}

}  // namespace

AXLE_REGISTER(gated_quickstart, "gated-quickstart")
AXLE_REGISTER(shift_quickstart, "shift-quickstart")

int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
