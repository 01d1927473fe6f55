#include "modifiers/products/product_slots.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "config/walk.h"
#include "layers/products/product.h"

namespace axle {

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
