// A layer with the name of a layer of the library.
// start: AXLE_REGISTER: expected one Norm called 'RMSNorm', got two
#include <axle/axle.h>

namespace mine {

using namespace axle;

class RMSNorm final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(RMSNorm)
  };
  RMSNorm(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

}  // namespace mine

AXLE_REGISTER(mine::RMSNorm)

int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
