// A layer and a recipe outside of Axle's tree: no line of the library changes, and every verb knows
// them.
#include <axle/axle.h>

namespace {

using namespace axle;

/// x -> x * sigmoid(x * w), one learned w a channel. Keeps the shape, so it may stand wherever a
/// Norm stands.
///
/// Shapes: x [..., D] of any float dtype -> the same.
class ChannelGate final : public Norm {
 public:
  struct Config {
    /// Every w at the start.
    float initial = 1.0f;
    AXLE_CONFIG(ChannelGate, initial)
  };
  ChannelGate(const Config& cfg, const Dims& dims, const Scope& scope)
      : Norm(scope),
        w_(param("w", {.shape = {dims.input_dim}, .init = Constant{.value = cfg.initial}})) {}

 protected:
  Tensor forward(const Tensor& x) override { return x * sigmoid(x * w_()); }

 private:
  Param w_;
};

/// The quickstart with the gate in place of the norm at the decoder's end.
Trainer::Config gated_quickstart() {
  Trainer::Config cfg = recipe("quickstart");
  replace_config<RMSNorm>(cfg, ChannelGate::Config{}, {.at = "model.decoder.output_norm"});
  return cfg;
}

}  // namespace

AXLE_REGISTER(ChannelGate)
AXLE_REGISTER(gated_quickstart, "gated-quickstart")

int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
