#include "modifiers/products/product_modifiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <typeinfo>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/products/product.h"
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
  const std::string wanted = to_string(with);
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
    const bool is_wanted = &held.type() == &with.type() && to_string(held) == wanted;
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
