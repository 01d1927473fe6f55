// Tests of every registered config: its documentation, and the ranges of its numbers.
#include "inspect/config_description.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/missing.h"
#include "config/registry.h"
#include "config/set.h"
#include "config/walk.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Returns what a field holds. An empty field gets a default first.
Slot filled(Slot slot) {
  while (true) {
    if (slot.ops->value) {
      void* const inside = slot.ops->value(slot.at);
      slot = {slot.name, inside ? inside : slot.ops->emplace(slot.at), slot.ops->element};
    } else if (slot.ops->elements) {
      const std::vector<Slot> all = slot.ops->elements(slot.at);
      void* const first = all.empty() ? slot.ops->insert(slot.at, "key") : all[0].at;
      slot = {slot.name, first, slot.ops->element};
    } else {
      return slot;
    }
  }
}

// Calls fn("AdamW.b1", slot, documentation of the field) for the numbers directly in each
// registered config, also in optionals, lists and maps. Returns their number.
template <class F>
int for_each_number(F fn) {
  int numbers = 0;
  for (const ConfigType* type : registered_configs()) {
    AnyConfig config = AnyConfig::with_defaults(*type);
    for (const Slot& field : children_of(config)) {
      const Slot slot = filled(field);
      if (!slot.ops->bounds) continue;
      fn(fmt::format("{}.{}", type->name, field.name), slot, doc_of(*type, field.name));
      ++numbers;
    }
  }
  return numbers;
}

std::string text_of(double v, LeafKind kind) {
  return kind == LeafKind::kInteger ? fmt::format("{}", static_cast<int64_t>(v))
                                    : fmt::format("{:.17g}", v);
}

// Returns the values next to the bounds, outside of the range. Leaves out values that the type
// can't hold.
std::vector<double> just_outside(const Bounds& b, LeafKind kind, bool is_float) {
  const auto beside = [&](double end, double towards) {
    if (kind == LeafKind::kInteger) return end + (towards > end ? 1 : -1);
    return is_float ? double{std::nextafterf(float(end), float(towards))}
                    : std::nextafter(end, towards);
  };
  std::vector<double> out;
  if (b.has_min()) out.push_back(b.open_min ? b.min : beside(b.min, -INFINITY));
  if (b.has_max()) out.push_back(b.open_max ? b.max : beside(b.max, INFINITY));
  return out;
}

TEST(Ranges, NumbersOfConfigsStateARange) {
  const auto check = [](const std::string& path, const Slot& slot, std::string_view doc) {
    if (slot.ops->bounds->has_min() || slot.ops->bounds->has_max()) return;
    EXPECT_THAT(doc, HasSubstr("ny number"))
        << path << ": state a range in the type of the field (Positive<double>, ...), or in its "
        << "comment that it takes any number";
  };
  const int numbers = for_each_number(check);
  EXPECT_GT(numbers, 60);
}

TEST(Ranges, NumbersOutsideTheirRangeAreRefused) {
  for_each_number([&](const std::string& path, const Slot& slot, std::string_view) {
    const Bounds& bounds = *slot.ops->bounds;
    const std::string expected = path + ": expected " + range_text(bounds, slot.ops->is_integer());
    const auto refusal = [&](const std::string& text) {
      return error_of([&] { set(ConfigRef(slot), "", text, path); });
    };
    const bool is_float = *slot.ops->number_type == typeid(float);
    for (const double v : just_outside(bounds, slot.ops->leaf, is_float))
      EXPECT_THAT(refusal(text_of(v, slot.ops->leaf)), HasSubstr(expected)) << path << " " << v;
    for (const char* text : {"nan", "inf", "-inf", "infinity"}) {
      EXPECT_THAT(refusal(text),
                  HasSubstr(slot.ops->leaf == LeafKind::kInteger ? path + ": expected an integer"
                                                                 : expected));
    }
    for (const char* text : {"", " 5", "+-5", "0x10", "0x1p3", "1_000", "5,0", "five"})
      EXPECT_THAT(refusal(text), HasSubstr(path + ": expected")) << text;
    double inside = bounds.has_max() ? (bounds.min + bounds.max) / 2 : bounds.min + 1;
    if (slot.ops->is_integer()) inside = std::floor(inside);
    if (bounds.has_min()) {
      EXPECT_EQ(refusal(text_of(inside, slot.ops->leaf)), "no error");
      EXPECT_EQ(slot.ops->number(slot.at), inside) << path;
    }
  });
}

// Programs compute in f32. These numbers would be zero or infinite there, for any field's own
// type.
TEST(Ranges, NumbersFitTheDevice) {
  int numbers = 0;
  for_each_number([&](const std::string& path, const Slot& slot, std::string_view) {
    if (slot.ops->leaf != LeafKind::kNumber) return;
    ++numbers;
    for (const char* text : {"1e-60", "1e39", "1e300", "-1e-60", "-1e39"}) {
      EXPECT_THAT(error_of([&] { set(ConfigRef(slot), "", text, path); }),
                  HasSubstr(path + ": expected a number"))
          << text;
      if (*slot.ops->number_type != typeid(double)) continue;
      *static_cast<double*>(slot.at) = std::stod(text);  // as C++ code may set it
      EXPECT_EQ(out_of_range(slot, path).size(), 1u) << path << " " << text;
    }
  });
  EXPECT_GT(numbers, 20);
}

TEST(Ranges, DefaultsAreInRange) {
  for (const ConfigType* type : registered_configs()) {
    // Dims have no valid defaults: a parent layer sets them.
    if (type->name.ends_with("Dims")) continue;
    EXPECT_THAT(out_of_range(AnyConfig::with_defaults(*type), type->name), ::testing::IsEmpty());
  }
}

TEST(Describe, EveryConfigAndFieldIsDocumented) {
  for (const ConfigType* type : registered_configs()) {
    EXPECT_FALSE(doc_of(*type).empty()) << type->name << ": a comment /// above the class";
    for (const Field& field : type->fields) {
      EXPECT_FALSE(doc_of(*type, field.name).empty())
          << type->name << "." << field.name << ": a comment /// above the field";
    }
  }
}

TEST(Describe, AClass) {
  const std::string text = to_text(describe_config("AdamW"));
  EXPECT_THAT(text, ::testing::StartsWith("AdamW (Optimizer)\n  "));
  EXPECT_THAT(text, HasSubstr("\n  b1: 0.9\n      Decay of the mean of gradients.\n      Takes a "
                              "number of at least 0 and below 1.\n"));
  EXPECT_THAT(text, HasSubstr("Takes a function: "));
  EXPECT_THAT(text, HasSubstr("; a number is a ConstantRate."));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("gelu"))) << "what fits a schedule";
  const auto json = to_json(describe_config("Optimizer.AdamW"));
  EXPECT_EQ(json["fields"]["eps"]["min"], 0.0);
  EXPECT_EQ(json["fields"]["eps"]["open_min"], true);
  EXPECT_FALSE(json["fields"]["eps"].contains("max"));
  EXPECT_EQ(json["fields"]["decay_factor"]["takes"], "learning_rate or one");
  EXPECT_EQ(json["fields"]["decay_factor"]["value"], "learning_rate");
}

TEST(Describe, ExceptionsAreDescribedAsErrors) {
  for (const Listing& listing : list_roles())
    EXPECT_THAT(to_text(describe_config(listing.name)), ::testing::Not(HasSubstr("Throws")));
  EXPECT_THAT(to_text(describe_config("AdamW")),
              HasSubstr(" Error unless 0 <= b1, b2 < 1 and eps > 0.\n"));
  EXPECT_THAT(to_text(describe_config("Optimizer")),
              HasSubstr(" Error unless 0 <= momentum < 1.\n"));
  EXPECT_THAT(to_text(describe_config("TextSource")),
              HasSubstr(" Error before it reads if the host lacks the memory. "));
}

TEST(Describe, StructsRolesFunctionsAndRecipes) {
  EXPECT_THAT(to_text(describe_config("Checkpointer")), HasSubstr("keep_last_n: 3"));
  EXPECT_THAT(to_text(describe_config("MeshRule")), HasSubstr("machine"));
  EXPECT_THAT(to_text(describe_config("SetRemat")), HasSubstr("SetRemat (Modifier)"));
  const std::string norms = to_text(describe_config("Norm"));
  EXPECT_THAT(norms, HasSubstr("Norm (role)"));
  EXPECT_THAT(norms, HasSubstr("\n  RMSNorm\n      "));
  EXPECT_THAT(to_text(describe_config("silu")),
              HasSubstr("silu (function Tensor (Tensor const&))"));
  EXPECT_THAT(to_text(describe_config("quickstart")), HasSubstr("max_steps: 440"));
}

TEST(Describe, APathOfARecipe) {
  const std::string text = to_text(describe_config("quickstart", "model.decoder.layers"));
  EXPECT_THAT(text, HasSubstr("model.decoder.layers = Stacked (a Block: "));
  EXPECT_THAT(text, HasSubstr("\n  num_layers: 4\n"));
  EXPECT_THAT(text, HasSubstr("\n  @remat: none\n      Remat policy for the layer's call"));
  const std::string leaf =
      to_text(describe_config("quickstart", "learner.optimizer.learning_rate.peak"));
  EXPECT_THAT(leaf, HasSubstr("= 0.003 (a number above 0)\n  The rate at the end"));
  EXPECT_THAT(to_text(describe_config("quickstart", "evalers")),
              ::testing::StartsWith("evalers = 1 entry (a map, each an Evaler"));
  const std::string element =
      to_text(describe_config("quickstart", "evalers.held_out.every_steps"));
  EXPECT_THAT(element, HasSubstr("none or an integer of at least 1"));
}

TEST(Describe, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_THAT(error_of([] { describe_config("AdmaW"); }), HasSubstr("did you mean 'AdamW'?"));
  EXPECT_THAT(error_of([] { describe_config("quickstrat"); }), HasSubstr("'quickstart'"));
  EXPECT_EQ(error_of([] { describe_config("AdamW", "b1"); }),
            "NAME: expected a recipe before the path, got the class AdamW");
  EXPECT_THAT(error_of([] { describe_config("AdmaW", "b1"); }), HasSubstr("no recipe is called"));
  EXPECT_THAT(error_of([] { describe_config("quickstart", "model.decodr"); }),
              HasSubstr("did you mean 'decoder'?"));
}

}  // namespace
}  // namespace axle
