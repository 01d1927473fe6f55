// A product that the library lacks: weights of three values.
//
// Source: Ma et al. 2024, "The Era of 1-bit LLMs", arXiv 2402.17764, section 2.
#include "world/experiment.h"

using namespace axle;

/// y = einsum(spec, x, r(weight)), where r(w) = s * clip(round(w / s), -1, 1) and s is the mean of
/// |w|. Rounding has the gradient of the identity.
///
/// Shapes: dtype of x.
class TernaryProduct final : public Product {
 public:
  struct Config {
    /// Added to the mean, so that a weight of zeros has a scale.
    Positive<double> eps = 1e-5;
    AXLE_CONFIG(TernaryProduct, eps)
  };
  TernaryProduct(const Config& cfg, const Dims& dims, const Scope& scope)
      : Product(scope), eps_(cfg.eps), spec_(dims.spec) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override {
    const Tensor w = stop_gradient(weight), scale = mean(abs(w)) + eps_;
    const Tensor rounded = scale * clamp(-1, round_nearest_even(w / scale), 1);
    return einsum(spec_, x, weight + (rounded - w));
  }

 private:
  double eps_;
  std::string spec_;
};
AXLE_REGISTER(TernaryProduct)

void add_ternary_product(ConfigRef world) {
  modify_each(world, QuantizeProducts::Config{.with = TernaryProduct::Config{}});
}
AXLE_REGISTER(add_ternary_product, "ternary_product")
