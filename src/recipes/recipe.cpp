#include "recipes/recipe.h"

#include <typeinfo>

#include "config/registry.h"

namespace axle {

Trainer::Config recipe(std::string_view name) {
  return function_named<Trainer::Config()>(name, "recipe")();
}
std::vector<std::string> recipe_names() { return names_of(typeid(Trainer::Config())); }

}  // namespace axle
