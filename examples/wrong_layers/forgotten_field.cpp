// A config that does not list one of its fields.
// compile: AXLE_CONFIG must list every field of its struct, each once
// compile: ForgottenField
#include <axle/axle.h>

using namespace axle;

class ForgottenField final : public Norm {
 public:
  struct Config {
    float initial = 1;
    float forgotten = 2;
    AXLE_CONFIG(ForgottenField, initial)
  };
  ForgottenField(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
AXLE_REGISTER(ForgottenField)

int main(int argc, char** argv) { return run_cli(argc, argv); }
