// A norm whose call ends with an exception of the standard library.
// run: --set model.decoder.output_norm=WrongNormCall
// prints: model.decoder.output_norm: the call of WrongNormCall ended with an exception
#include <axle/axle.h>

#include <vector>

using namespace axle;

class WrongNormCall final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(WrongNormCall)
  };
  WrongNormCall(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x * std::vector<double>().at(3); }
};
AXLE_REGISTER(WrongNormCall)

int main(int argc, char** argv) { return run_cli(argc, argv); }
