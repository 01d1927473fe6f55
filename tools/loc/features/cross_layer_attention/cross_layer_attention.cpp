// The second attention of every model looks at the result of the first.
#include "world/experiment.h"

using namespace axle;

/// x -> body(x), published under a name for the layers after it (SourceQKV). Published does this
/// for blocks.
class PublishedMixer final : public Mixer {
 public:
  struct Config {
    /// The name under which the result is published.
    std::string name = "source";
    /// The mixer that computes the result.
    Child<Mixer> body = {};
    AXLE_CONFIG(PublishedMixer, name, body)
  };
  PublishedMixer(const Config& cfg, const Dims& dims, const Scope& scope)
      : Mixer(scope), name_(cfg.name), body_(child("body", cfg.body, dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = body_(x_BTD, context);
    publish(name_, y_BTD);
    return y_BTD;
  }

 private:
  std::string name_;
  Handle<Mixer> body_;
};
AXLE_REGISTER(PublishedMixer)

using Publish = PublishedMixer::Config;

void add_cross_layer_attention(ConfigRef world) {
  wrap<Mixer>(world, Publish{}, &Publish::body, {.at = "**.attention0"});
  replace_config<QKV>(world, SourceQKV::Config{.same_tokens = true}, {.at = "**.attention1.*"});
}
AXLE_REGISTER(add_cross_layer_attention, "cross_layer_attention")
