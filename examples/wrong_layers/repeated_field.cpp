// A config that lists a field twice in place of another one.
// start: AXLE_CONFIG(RepeatedField, ...): expected each field once, got 'initial' twice
#include <axle/axle.h>

using namespace axle;

class RepeatedField final : public Norm {
 public:
  struct Config {
    float initial = 1;
    float forgotten = 2;
    AXLE_CONFIG(RepeatedField, initial, initial)
  };
  RepeatedField(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
AXLE_REGISTER(RepeatedField)

int main(int argc, char** argv) { return run_cli(argc, argv); }
