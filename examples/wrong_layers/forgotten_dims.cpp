// A layer that passes no dims at all to its child.
// compile: {} forgets the dims of the role
// compile: Role = axle::Projection
#include <axle/axle.h>

using namespace axle;

class ForgottenDims final : public Norm {
 public:
  struct Config {
    Child<Projection> proj = Linear::Config{};
    AXLE_CONFIG(ForgottenDims, proj)
  };
  ForgottenDims(const Config& cfg, const Dims&, const Scope& scope)
      : Norm(scope), proj_(child("proj", cfg.proj, {})) {}

 protected:
  Tensor forward(const Tensor& x) override { return proj_(x); }

 private:
  Handle<Projection> proj_;
};
AXLE_REGISTER(ForgottenDims)

int main(int argc, char** argv) { return run_cli(argc, argv); }
