#include "modifiers/products/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "config/register.h"
#include "config/walk.h"
#include "modifiers/products/quantize_products.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

bool is_adapter(const ProductSlot& product) {
  return held_config(product.slot)->get_if<LoraProduct::Config>() != nullptr;
}

// The adapter takes the old config with it; the options of the slot stay with the slot.
void put_adapter(const ProductSlot& product, LoraProduct::Config adapter) {
  adapter.inner.put(*held_config(product.slot));
  put_config(product.slot, AnyConfig::of(std::move(adapter)));
}

// Adds what is missing to a list of texts, if the tree has the list.
void add_to_list(ConfigRef root, std::string_view path, const std::vector<std::string>& texts,
                 RewriteReport& report) {
  walk(root, [&](const std::string& at, const Slot& slot) {
    if (at != path || *slot.ops->type != typeid(std::vector<std::string>)) return;
    auto& list = *static_cast<std::vector<std::string>*>(slot.at);
    const size_t before = list.size();
    for (const std::string& text : texts) {
      if (std::ranges::count(list, text) == 0) list.push_back(text);
    }
    (list.size() > before ? report.matched : report.unchanged).push_back(at);
  });
}

}  // namespace

std::vector<Rewrite> Lora::apply(ConfigRef root) const {
  Rewrite adapted{.what = "Product inside LoraProduct", .report = {}};
  RewriteReport& report = adapted.report;
  const Child<Model>* const model = find_model(root);
  const ModelTrial trial(model);
  const std::vector<ProductSlot> products = product_slots(root);
  if (!allow_none_) {
    check_patterns("Lora.except", cfg_.except, products);
    std::vector<ParameterPattern> patterns;
    for (size_t i = 0; i < cfg_.also_train.size(); ++i)
      patterns.push_back({fmt::format("Lora.also_train[{}]", i), cfg_.also_train[i]});
    if (model) check_patterns_of_parameters(*model, patterns);
  }
  // Inner products come first, since their slots move with the config that holds them.
  for (const ProductSlot& product : Reversed(products)) {
    if (!matches_layer(cfg_.at, product) || matches_layer(cfg_.except, product)) continue;
    if (product.is_inner) continue;
    if (is_adapter(product)) {
      report.unchanged.push_back(product.path);
      continue;
    }
    const auto adapt = [&] {
      put_adapter(product, {.rank = cfg_.rank,
                            .alpha = cfg_.alpha,
                            .dropout = Dropout::Config{.rate = cfg_.dropout}});
    };
    const std::vector<std::string> refusals = trial.refusals(product.slot, adapt);
    if (refusals.empty()) {
      report.matched.push_back(product.path);
    } else {
      report.skipped.push_back({product.path, join(refusals, "; ")});
    }
  }
  std::ranges::reverse(report.matched);
  std::ranges::reverse(report.unchanged);
  std::ranges::reverse(report.skipped);
  if (report.matched.empty() && report.unchanged.empty()) {
    if (report.skipped.empty()) fail_no_product("Lora", cfg_.at, cfg_.except, products);
    return {std::move(adapted)};
  }
  std::vector<std::string> trained = {"**.lora_down", "**.lora_up"};
  trained.insert(trained.end(), cfg_.also_train.begin(), cfg_.also_train.end());
  Rewrite frozen{.what = "frozen parameters", .report = {}};
  add_to_list(root, "learner.frozen", {"**"}, frozen.report);
  add_to_list(root, "learner.trained", trained, frozen.report);
  return {std::move(adapted), std::move(frozen)};
}

std::vector<std::string> remove_adapters(ConfigRef root) {
  std::vector<std::string> out;
  const std::vector<ProductSlot> products = product_slots(root);
  for (const ProductSlot& product : Reversed(products)) {
    auto* const lora = held_config(product.slot)->get_if<LoraProduct::Config>();
    if (!lora) continue;
    put_config(product.slot, AnyConfig(lora->inner.any()));
    out.push_back(product.path);
  }
  std::ranges::reverse(out);
  return out;
}

AXLE_REGISTER(Lora)

}  // namespace axle
