// The products of a config tree, for the modifiers that exchange or wrap them.
#pragma once

#include <string>
#include <vector>

#include "config/replace.h"

namespace axle {

/// A slot that holds a Product. A product inside of another one (LoraProduct.inner) has a slot of
/// its own.
struct ProductSlot {
  std::string path;
  Slot slot;
  std::string layer_path;            // without the names of products at its end
  const AnyConfig* owner = nullptr;  // the config whose slot it is
  bool is_inner = false;             // the owner is a product as well
};

/// Returns the slots in the order of the tree. They are valid until the tree changes its classes
/// elsewhere.
std::vector<ProductSlot> product_slots(ConfigRef root);

/// True if the pattern, or one of the patterns, matches the path of the slot or of its layer.
bool matches_layer(std::string_view pattern, const ProductSlot& product);
bool matches_layer(const std::vector<std::string>& patterns, const ProductSlot& product);

/// Throws NoMatch "<field>: expected the path of a layer with a product, got ...".
[[noreturn]] void fail_no_product(std::string_view field, std::string_view pattern);
/// The same for a modifier with the fields `at` and `except`: says which of them leaves none.
[[noreturn]] void fail_no_product(std::string_view modifier, std::string_view at,
                                  const std::vector<std::string>& except,
                                  const std::vector<ProductSlot>& products);
/// Throws NoMatch if one of the patterns matches no product. `field` holds them: "Lora.except".
void check_patterns(std::string_view field, const std::vector<std::string>& patterns,
                    const std::vector<ProductSlot>& products);

}  // namespace axle
