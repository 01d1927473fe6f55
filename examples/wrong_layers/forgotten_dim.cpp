// A layer that does not pass a dim to its child.
// compile: missing initializer for member
// compile: output_dim
#include <axle/axle.h>

using namespace axle;

class ForgottenDim final : public Norm {
 public:
  struct Config {
    Child<Projection> proj = Linear::Config{};
    AXLE_CONFIG(ForgottenDim, proj)
  };
  ForgottenDim(const Config& cfg, const Dims& dims, const Scope& scope)
      : Norm(scope), proj_(child("proj", cfg.proj, {.input_dim = dims.input_dim})) {}

 protected:
  Tensor forward(const Tensor& x) override { return proj_(x); }

 private:
  Handle<Projection> proj_;
};
AXLE_REGISTER(ForgottenDim)

int main(int argc, char** argv) { return run_cli(argc, argv); }
