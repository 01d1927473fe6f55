// The role Product: the product of activations and a weight, inside of a layer that owns the
// weight. Low-rank adapters and quantization are classes of this role.
#pragma once

#include "base/text/text.h"
#include "nn/layer.h"

namespace axle {

/// Who reads the weight of a product.
enum class WeightUse {
  /// The product alone.
  kProductOnly,
  /// Also the layer that owns it, which looks up rows, by Product::rows alone.
  kRowsToo,
  /// The layer reads it itself, or computes it.
  kOthersToo
};
constexpr auto texts_of(WeightUse) {
  return std::to_array<EnumText<WeightUse>>({{WeightUse::kProductOnly, "product_only"},
                                             {WeightUse::kRowsToo, "rows_too"},
                                             {WeightUse::kOthersToo, "others_too"}});
}

/// x, weight -> y = einsum(spec, x, weight), dtype of x, or what stands for it.
class Product : public LayerRole<Product, Tensor(const Tensor& x, const Tensor& weight)> {
 public:
  /// The product that the layer asks for.
  struct Dims {
    /// The dims of x, of the weight and of y, as in einsum: "...i,io->...o".
    std::string spec;
    /// Sizes of the dims of the weight. A call may repeat the weight along some of its dims, and so
    /// y, a whole number of times (HeadInputLinear).
    std::vector<Positive<int64_t>> weight_dims;
    /// Mesh axes of the dims of the weight.
    PartitionSpec weight_axes = {};
    /// Letters of dims that count separate maps of the same x: "p" in "btd,pdnh->pbtnh".
    std::string stacked = {};
    /// Path of the parameter that is the weight. Empty: the weight is computed from parameters, or
    /// other parts of the layer read it as well, so that nothing can be added to it.
    std::string weight = {};
    /// Who reads it.
    WeightUse use = WeightUse::kProductOnly;
    AXLE_CONFIG(Dims, spec, weight_dims, weight_axes, stacked, weight, use)
  };
  static constexpr InputNames kInputs = {"x", "weight"};
  using LayerRole::LayerRole;
  /// Returns rows `ids` (integers of any dims) of the weight [rows, columns], dtype of the weight.
  /// Ids outside of it are clamped to it. `axes` lay out the weight before.
  virtual Tensor rows(const Tensor& weight, const Tensor& ids, const PartitionSpec& axes);

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x, const Tensor& weight) const;
};

/// Returns the dims of a product with a weight that `owner` declared. The batch dims of the
/// weight's fan are the stacked ones.
Product::Dims product_dims(std::string spec, const Layer& owner, const Param& weight,
                           WeightUse use = WeightUse::kProductOnly);

/// The letters of a product's spec, by their part in it. Each list is in the order of the weight.
struct ProductLetters {
  std::string x, weight, y;  // "..." included
  std::string stacked;       // of the weight and y, counting maps
  std::string batch;         // of x, the weight and y
  std::string contracted;    // of x and the weight
  std::string out;           // of the weight and y
};
/// Throws InternalError for a spec without ',' and "->".
ProductLetters letters_of(const Product::Dims& dims);

/// Returns a part of a product, whose dims have these letters, with the dims of a weight repeated
/// that `called`, the weight of a call, has more of than `declared`: heads that devices share.
Tensor repeated_as_called(Tensor part, const std::string& letters, const Tensor& called,
                          const std::string& weight_letters, std::span<const int64_t> declared);

/// Returns the dims of `letters` that are among `some`, counted from the end: "dnh" and "nh" yield
/// -2 and -1.
std::vector<int64_t> from_the_end(const std::string& letters, const std::string& some);

extern template class LayerRole<Product, Product::Signature>;

/// y = einsum(spec, x, weight).
class PlainProduct final : public Product {
 public:
  struct Config {
    AXLE_CONFIG(PlainProduct)
  };
  PlainProduct(const Config&, const Dims& dims, const Scope& scope)
      : Product(scope), spec_(dims.spec) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  std::string spec_;
};

}  // namespace axle
