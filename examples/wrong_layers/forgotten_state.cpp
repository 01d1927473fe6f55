// An optimizer that does not return all of its state.
// run: --set learner.optimizer=ForgottenState
// prints: learner.optimizer: ForgottenState: expected update() to return the state of state_specs(), got: m/
#include <axle/axle.h>

using namespace axle;

class ForgottenState final : public Optimizer {
 public:
  struct Config {
    AXLE_CONFIG(ForgottenState)
  };
  ForgottenState(const Config&, const Dims& dims, const Scope&) : params_(dims.params) {}

  Tree<ParamSpec> state_specs() const override { return zero_state_specs(params_, "m"); }
  UpdateOutputs update(const UpdateInputs& in) const override {
    UpdateOutputs out{.metrics = {{"learning_rate", scalar(1e-3)}}};
    for (const auto& [path, gradient] : in.gradients) out.updates.emplace(path, -1e-3 * gradient);
    return out;
  }

 private:
  Tree<ParamSpec> params_;
};
AXLE_REGISTER(ForgottenState)

int main(int argc, char** argv) { return run_cli(argc, argv); }
