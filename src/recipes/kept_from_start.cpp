#include "recipes/kept_from_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "config/walk.h"
#include "interop/peft_adapters.h"
#include "interop/trained_part.h"
#include "layers/models/preference_lm.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/product_slots.h"

namespace axle {
namespace {

template <class Modifier>
bool differs(const FlagRequest<Modifier>& wanted, std::string_view name, double has, double asked) {
  return has != asked && std::ranges::count(wanted.given, name) > 0;
}

}  // namespace

void check_adapters(Trainer::Config& start, const std::string& folder,
                    const FlagRequest<Lora>& wanted) {
  const Lora::Config& fields = wanted.fields;
  const bool is_by_root = is_scaled_by_root(folder);
  for (const ProductSlot& product : product_slots(start)) {
    const auto* const own = held_config(product.slot)->get_if<LoraProduct::Config>();
    if (!own || !matches_layer(fields.at, product) || matches_layer(fields.except, product))
      continue;
    const auto check = [&](std::string_view name, double has, double asked) {
      if (!differs(wanted, name, has, asked)) return;
      throw ConfigError(fmt::format(
          "{}: {}: expected {}, as the adapters of {} have it ({}), got {}; leave it out to train "
          "them on, or axle checkpoint merge {} --dir NEW and begin with NEW",
          wanted.flag, name, has, folder, product.path, asked, folder));
    };
    const auto rank = static_cast<double>(int64_t{own->rank});
    check("rank", rank, static_cast<double>(int64_t{fields.rank}));
    // To as many digits as the alpha there has, since the root of the rank is not exact.
    const double stated = std::round(own->alpha / std::sqrt(rank) * 1e9) / 1e9;
    check("alpha", is_by_root ? stated : double{own->alpha}, fields.alpha);
    if (const auto* const dropout = own->dropout.get_if<Dropout>())
      check("dropout", dropout->rate, fields.dropout);
  }
}

void check_dtype(const Trainer::Config& run, const std::string& folder, DType wanted) {
  const DType own = trained_part(run.model).config.options.dtype.value_or(DType::kF32);
  if (own == wanted) return;
  throw ConfigError(fmt::format(
      "--dtype: expected {}, as the run in {} has it, got {}; leave it out, or use another --dir",
      to_text(own), folder, to_text(wanted)));
}

void check_preference(const Trainer::Config& run, const std::string& folder,
                      const FlagRequest<PreferenceTuning>& wanted) {
  const auto* const own = run.model.get_if<PreferenceLM>();
  if (!own) return;
  const auto check = [&](std::string_view name, double has, double asked) {
    if (!differs(wanted, name, has, asked)) return;
    throw ConfigError(
        fmt::format("{}: {}: expected {}, as the run in {} has it, got {}; leave it "
                    "out, or use another --dir",
                    wanted.flag, name, has, folder, asked));
  };
  check("beta", own->beta, wanted.fields.beta);
  check("label_smoothing", own->label_smoothing, wanted.fields.label_smoothing);
}

}  // namespace axle
