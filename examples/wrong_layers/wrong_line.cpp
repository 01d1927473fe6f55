// Ops that do not fit, in a norm and in a core. The message names their lines here, whatever the
// build type.
// run: --set model.decoder.output_norm=CrookedNorm
// prints: wrong_line.cpp:19: shapes [2, 8, 8] and [3, 7] do not broadcast
// run: --set model.decoder.layers.layer.attention.body.core=CrookedCore
// prints: wrong_line.cpp:32: shapes [2, 8, 4, 2] and [3, 7] do not broadcast
#include <axle/axle.h>

using namespace axle;

class CrookedNorm final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(CrookedNorm)
  };
  CrookedNorm(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x * ones({3, 7}); }
};
AXLE_REGISTER(CrookedNorm)

class CrookedCore final : public AttentionCore {
 public:
  struct Config {
    AXLE_CONFIG(CrookedCore)
  };
  CrookedCore(const Config&, const Dims&, const Scope& scope) : AttentionCore(scope) {}

 protected:
  Tensor forward(const Tensor& q_BTNH, const KeyValues&, const Visibility&) override {
    return q_BTNH * ones({3, 7});
  }
};
AXLE_REGISTER(CrookedCore)

int main(int argc, char** argv) { return run_cli(argc, argv); }
