#include "modifiers/quantize_products.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/document/print.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/convolution/convolution_layer.h"
#include "layers/experts/router.h"
#include "modifiers/product_slots.h"

namespace axle {
namespace {

// True for layers with weights of their own that are multiplied without a Product. The test of this
// modifier compares the list with the parameters of a model that has all of them.
bool multiplies_without_product(const AnyConfig& config) {
  const ConfigType& type = config.type();
  return type.role == &role_info<ConvolutionLayer>() || type.role == &role_info<Router>() ||
         config.get_if<TransformerXLAttention::Config>();
}

// A product that holds another one is no place for a quantized product, but the inner one is.
bool holds_a_product(const std::vector<ProductSlot>& products, const ProductSlot& product) {
  return std::ranges::any_of(products, [&](const ProductSlot& other) {
    return other.is_inner && other.owner == held_config(product.slot);
  });
}

}  // namespace

QuantizeProducts::QuantizeProducts(const Config& cfg, const Dims&, const Scope& scope) : cfg_(cfg) {
  AnyConfig with = cfg.with.any();
  if (product_slots(ConfigRef(with)).empty()) return;
  throw ConfigError(fmt::format(
      "{}.with: expected a product that holds no other one, got {}; its slot 'inner' can be set",
      scope.path, with.type().name));
}

std::vector<Rewrite> QuantizeProducts::apply(ConfigRef root) const {
  const AnyConfig& with = cfg_.with.any();
  const std::string wanted = to_string(ConfigView(with));
  Rewrite out{.what = fmt::format("Product -> {}", with.type().name), .report = {}};
  RewriteReport& report = out.report;
  const std::vector<ProductSlot> products = product_slots(root);
  for (const ProductSlot& product : products) {
    if (holds_a_product(products, product)) continue;
    const AnyConfig& held = *held_config(product.slot);
    const bool is_wanted = &held.type() == &with.type() && to_string(ConfigView(held)) == wanted;
    if (!matches_layer(cfg_.at, product)) {
      report.skipped.push_back({product.path, fmt::format("'{}' does not match it", cfg_.at)});
    } else if (matches_layer(cfg_.except, product)) {
      report.skipped.push_back({product.path, "it is an exception"});
    } else if (is_wanted) {
      report.unchanged.push_back(product.path);
    } else {
      put_config(product.slot, with);
      report.matched.push_back(product.path);
    }
  }
  if (report.matched.empty() && report.unchanged.empty())
    fail_no_product("QuantizeProducts", cfg_.at);
  walk(root, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* const held = held_config(slot);
    if (held && multiplies_without_product(*held))
      report.skipped.push_back({path, "it multiplies without a product"});
  });
  return {std::move(out)};
}

AXLE_REGISTER(QuantizeProducts)

}  // namespace axle
