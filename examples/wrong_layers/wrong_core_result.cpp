// An attention core whose result lacks the heads.
// run: --set model.decoder.layers.layer.attention.body.core=WrongCoreResult
// prints: attention.body.core: WrongCoreResult: expected a result with the dims of the queries
#include <axle/axle.h>

using namespace axle;

class WrongCoreResult final : public AttentionCore {
 public:
  struct Config {
    AXLE_CONFIG(WrongCoreResult)
  };
  WrongCoreResult(const Config&, const Dims&, const Scope& scope) : AttentionCore(scope) {}

 protected:
  Tensor forward(const Tensor& q_BTNH, const KeyValues&, const Visibility&) override {
    return reduce_sum(q_BTNH, {2});
  }
};
AXLE_REGISTER(WrongCoreResult)

int main(int argc, char** argv) { return run_cli(argc, argv); }
