// An attention core that adds tensors whose shapes do not fit: the error names this line.
// run: --set model.decoder.layers.layer.attention.body.core=WrongCoreShape
// prints: wrong_core_shape.cpp:19
#include <axle/axle.h>

using namespace axle;

class WrongCoreShape final : public AttentionCore {
 public:
  struct Config {
    AXLE_CONFIG(WrongCoreShape)
  };
  WrongCoreShape(const Config&, const Dims&, const Scope& scope) : AttentionCore(scope) {}

 protected:
  Tensor forward(const Tensor& q_BTNH, const KeyValues&, const Visibility&) override {
    const Tensor odd = zeros({7, 7}, q_BTNH.dtype());

    return q_BTNH + odd;
  }
};
AXLE_REGISTER(WrongCoreShape)

int main(int argc, char** argv) { return run_cli(argc, argv); }
