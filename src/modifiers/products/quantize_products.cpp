#include "modifiers/products/quantize_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/products/product.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

// A product that holds another one is not replaced by a quantized product, but the inner one is.
bool holds_a_product(const std::vector<ProductSlot>& products, const ProductSlot& product) {
  return std::ranges::any_of(products, [&](const ProductSlot& other) {
    return other.is_inner && other.owner == held_config(product.slot);
  });
}

// The weights that no slot of a product can change. They may have no slot of their own either.
std::vector<SkippedSlot> multiplied_elsewhere(const Child<Model>& model) {
  std::vector<SkippedSlot> out;
  try {
    for (const auto& [path, use] : weights_outside_products(model)) {
      const std::string layer = use.layer.empty() ? "the model" : dotted(use.layer);
      out.push_back({"model", fmt::format("{} multiplies {} without a product, by {}", layer,
                                          dotted(path), use.op)});
    }
  } catch (const Error& error) {
    out.push_back({"model", fmt::format("weights outside of products are not known, since it "
                                        "cannot be traced: {}",
                                        error.what())});
  }
  return out;
}

}  // namespace

QuantizeProducts::QuantizeProducts(const Config& cfg, const Dims&, const Scope& scope)
    : cfg_(cfg), allow_none_(may_find_none(scope)) {
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
  std::string refusal;  // of the last product that cannot be so
  const std::vector<ProductSlot> products = product_slots(root);
  if (!allow_none_) check_patterns("QuantizeProducts.except", cfg_.except, products);
  const Child<Model>* const model = find_model(root);
  const ModelTrial trial(model);
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
      const std::vector<std::string> refusals =
          trial.refusals(product.slot, [&] { put_config(product.slot, with); });
      if (refusals.empty()) {
        report.matched.push_back(product.path);
      } else {
        refusal = join(refusals, "; ");
        report.skipped.push_back({product.path, refusal});
      }
    }
  }
  if (report.matched.empty() && report.unchanged.empty()) {
    if (!refusal.empty())
      throw ConfigError("QuantizeProducts.with: no product takes it: " + refusal);
    fail_no_product("QuantizeProducts", cfg_.at, cfg_.except, products);
  }
  if (model) std::ranges::move(multiplied_elsewhere(*model), std::back_inserter(report.skipped));
  return {std::move(out)};
}

AXLE_REGISTER(QuantizeProducts)

std::vector<ProductSlot> product_slots(ConfigRef root) {
  std::vector<ProductSlot> out;
  struct Holder {
    std::string path;
    const AnyConfig* config = nullptr;
  };
  std::vector<Holder> holders;  // of the slots on the way to the visited one
  const auto is_product = [](const AnyConfig& config) {
    return config.type().role == &role_info<Product>();
  };
  walk(
      root,
      [&](const std::string& path, const Slot& slot) {
        const AnyConfig* const held = held_config(slot);
        if (!held || !*held) return;
        if (is_product(*held)) {
          const Holder owner = holders.empty() ? Holder{} : holders.back();
          const bool is_inner = owner.config && is_product(*owner.config);
          out.push_back(
              {path, slot, is_inner ? out.back().layer_path : owner.path, owner.config, is_inner});
        }
        holders.push_back({path, held});
      },
      [&](const std::string&, const Slot& slot) {
        const AnyConfig* const held = held_config(slot);
        if (held && *held) holders.pop_back();
      });
  return out;
}

bool matches_layer(std::string_view pattern, const ProductSlot& product) {
  return glob_match(pattern, product.path) || glob_match(pattern, product.layer_path);
}
bool matches_layer(const std::vector<std::string>& patterns, const ProductSlot& product) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches_layer(pattern, product); });
}

void fail_no_product(std::string_view field, std::string_view pattern) {
  throw NoMatch(
      fmt::format("{}: expected the path of a layer with a product, got '{}', which matches none",
                  field, pattern));
}

void fail_no_product(std::string_view modifier, std::string_view at,
                     const std::vector<std::string>& except,
                     const std::vector<ProductSlot>& products) {
  const auto count = std::ranges::count_if(
      products, [&](const ProductSlot& product) { return matches_layer(at, product); });
  if (count == 0) fail_no_product(fmt::format("{}.at", modifier), at);
  throw NoMatch(fmt::format(
      "{}.except: expected to leave at least one of the {} products that '{}' matches, got '{}', "
      "which excludes all",
      modifier, count, at, join(except, "', '")));
}

void check_patterns(std::string_view field, const std::vector<std::string>& patterns,
                    const std::vector<ProductSlot>& products) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    const bool is_used = std::ranges::any_of(
        products, [&](const ProductSlot& product) { return matches_layer(patterns[i], product); });
    if (!is_used) fail_no_product(fmt::format("{}[{}]", field, i), patterns[i]);
  }
}

}  // namespace axle
