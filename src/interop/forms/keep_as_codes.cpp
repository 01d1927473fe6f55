#include "interop/forms/keep_as_codes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/register.h"
#include "config/walk.h"
#include "interop/gguf_model.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/user_path.h"
#include "modifiers/products/product_slots.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

constexpr std::string_view kModel = "model";

// A product whose weight can be kept as codes, by its place below the model.
struct Place {
  bool is_table = false;
  std::optional<CodeScheme> scheme;  // of its weight in the file
};
using Places = std::map<std::string, Place>;

// The path of a config below its model.
std::string below_model(const std::string& path) {
  return path.starts_with("model.") ? path.substr(kModel.size() + 1) : path;
}

bool is_coded(const ProductSlot& product) {
  return held_config(product.slot)->get_if<QuantizedProduct::Config>() != nullptr;
}

// A product that holds another one is no place for codes, but the inner one is.
bool holds_a_product(const std::vector<ProductSlot>& products, const ProductSlot& product) {
  return std::ranges::any_of(products, [&](const ProductSlot& other) {
    return other.is_inner && other.owner == held_config(product.slot);
  });
}

// The model with codes wherever it takes them, in a scheme that fits every weight.
std::unique_ptr<Model> coded_model(Child<Model> config) {
  const ModelTrial trial(&config);
  const std::vector<ProductSlot> products = product_slots(ConfigRef(config));
  for (const ProductSlot& product : products) {
    if (holds_a_product(products, product)) continue;
    trial.refusals(product.slot, [&] {
      put_config(product.slot,
                 AnyConfig::of(QuantizedProduct::Config{.bits = CodeBits::kEight, .group = 1}));
    });
  }
  return config.build({}, Scope{.path = std::string(kModel)});
}

Places places_of(const Child<Model>& config, const std::string& from) {
  const std::unique_ptr<Model> model = coded_model(config);
  Tree<CodeScheme> schemes;
  const std::filesystem::path path = path_of_text(from);
  if (!from.empty() && !path_exists(path)) {
    throw ConfigError(
        fmt::format("KeepAsCodes.from: expected a path as --init-from takes it, got {}: {}", from,
                    nothing_at(path)));
  }
  if (!from.empty() && is_gguf(path))
    schemes = read_gguf(path, {.with_weights = false, .codes_of = model.get()}).schemes;
  Places out;
  for (const QuantizedProduct* product : quantized_products(*model)) {
    Place& place = out[below_model(product->config_path())];
    place.is_table = product->is_table();
    const auto own = schemes.find(product->weight_path());
    if (own == schemes.end()) continue;
    place.scheme = place.scheme ? joined(*place.scheme, own->second) : own->second;
  }
  return out;
}

}  // namespace

std::vector<Rewrite> KeepAsCodes::apply(ConfigRef root) const {
  Rewrite out{.what = "weights as codes", .report = {}};
  RewriteReport& report = out.report;
  const Child<Model>* const model = find_model(root);
  if (!model || !*model) throw NoMatch("KeepAsCodes: expected a model, got a tree without one");
  const Places places = places_of(*model, cfg_.from);
  const ModelTrial trial(model);
  const std::vector<ProductSlot> products = product_slots(root);
  for (const ProductSlot& product : products) {
    if (holds_a_product(products, product)) continue;
    const auto place = places.find(below_model(product.path));
    const bool is_known = place != places.end();
    if (is_coded(product)) {
      report.unchanged.push_back(product.path);
    } else if (is_known && place->second.is_table && !place->second.scheme) {
      report.skipped.push_back({product.path, "a table that is not stored as codes"});
    } else {
      const AnyConfig wanted =
          is_known && place->second.scheme
              ? AnyConfig::of(QuantizedProduct::config_of(*place->second.scheme))
              : cfg_.with.any();
      const std::vector<std::string> refusals =
          trial.refusals(product.slot, [&] { put_config(product.slot, wanted); });
      if (refusals.empty())
        report.matched.push_back(product.path);
      else
        report.skipped.push_back({product.path, join(refusals, "; ")});
    }
  }
  return {std::move(out)};
}

AXLE_REGISTER(KeepAsCodes)

}  // namespace axle
