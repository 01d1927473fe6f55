// A layer without AXLE_REGISTER, in a slot.
// compile: ForgottenRegistration::Config::config_type()
#include <axle/axle.h>

using namespace axle;

class ForgottenRegistration final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(ForgottenRegistration)
  };
  ForgottenRegistration(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

Trainer::Config unregistered() {
  Trainer::Config cfg = recipe("quickstart");
  replace_config<RMSNorm>(cfg, ForgottenRegistration::Config{});
  return cfg;
}
AXLE_REGISTER(unregistered, "unregistered")

int main(int argc, char** argv) { return run_cli(argc, argv); }
