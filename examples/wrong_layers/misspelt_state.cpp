// An optimizer that looks for state under a name that it does not have.
// run: --set learner.optimizer=MisspeltState
// prints: learner.optimizer: the call of MisspeltState ended with an exception: a tree has no entry
// prints: a tree has no entry 'mm/model/decoder/emb/weight'; look for the mistake in this class
#include <axle/axle.h>

using namespace axle;

class MisspeltState final : public Optimizer {
 public:
  struct Config {
    AXLE_CONFIG(MisspeltState)
  };
  MisspeltState(const Config&, const Dims& dims, const Scope&) : params_(dims.params) {}

  Tree<ParamSpec> state_specs() const override { return zero_state_specs(params_, "m"); }
  UpdateOutputs update(const UpdateInputs& in) const override {
    UpdateOutputs out{.metrics = {{"learning_rate", scalar(1e-3)}}};
    for (const auto& [path, unused] : in.gradients)
      out.updates.emplace(path, -1e-3 * in.state.at("mm/" + path));
    return out;
  }

 private:
  Tree<ParamSpec> params_;
};
AXLE_REGISTER(MisspeltState)

int main(int argc, char** argv) { return run_cli(argc, argv); }
