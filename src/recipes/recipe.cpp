#include "recipes/recipe.h"

#include <algorithm>
#include <typeinfo>

#include "base/text/text.h"
#include "config/registry.h"

namespace axle {
namespace {

bool is_for_tests(std::string_view name) {
  return std::ranges::count(split(name, '-'), "test") > 0;
}

}  // namespace

Trainer::Config recipe(std::string_view name) {
  return function_named<Trainer::Config()>(name, "recipe")();
}
std::vector<std::string> recipe_names() { return names_of(typeid(Trainer::Config())); }
std::vector<std::string> test_recipe_names() {
  std::vector<std::string> out = recipe_names();
  std::erase_if(out, [](const std::string& name) { return !is_for_tests(name); });
  return out;
}
std::vector<std::string> product_recipe_names() {
  std::vector<std::string> out = recipe_names();
  std::erase_if(out, is_for_tests);
  return out;
}

}  // namespace axle
