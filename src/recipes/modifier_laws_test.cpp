// Laws that hold for every modifier, on a tree of unlike parts: its report is what it did; a second
// application changes nothing, and says what was so before or that it finds nothing; files and
// `--modify` do what C++ does; what finds nothing is an error, unless that is allowed. A modifier
// without a row fails by its name.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text/text.h"
#include "base/text/yaml.h"
#include "config/print.h"
#include "config/registry.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "interop/forms/plain_model.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/products/fp8_product.h"
#include "modifiers/attention/set_attention.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/mesh_modifiers.h"
#include "modifiers/modifier.h"
#include "modifiers/preference_tuning.h"
#include "modifiers/products/product_modifiers.h"
#include "recipes/mixed_config_test.h"
#include "recipes/resolve/check_recipe.h"
#include "testing/error_of.h"
#include "train/modifiers/run_modifiers.h"
#include "train/mup/mup.h"

namespace axle {
namespace {

/// How many slots a modifier changes in the tree of mixed_config(), finds as wanted, and skips.
struct Counts {
  size_t matched = 0, unchanged = 0, skipped = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& c, std::ostream* out) {
  *out << c.matched << " matched, " << c.unchanged << " unchanged, " << c.skipped << " skipped";
}

struct ModifierLawsCase {
  std::string name;
  Child<Modifier> modifier;
  Counts counts;
  /// True: there is something to change in every tree.
  bool fits_all = false;
  /// True: what it looks for is gone once it has been applied.
  bool uses_up = false;
};
void PrintTo(const ModifierLawsCase& c, std::ostream* out) { *out << c.name; }

std::vector<ModifierLawsCase> cases() {
  const ReplaceClass::Config layer_norms{.replace = "RMSNorm", .with = "LayerNorm"};
  const SetFields::Config steps{.set = {{"max_steps", "5"}}};
  return {
      {"ReplaceClass", layer_norms, {8, 0}, false, /*uses_up=*/true},
      {"ReplaceARole",
       ReplaceClass::Config{.replace = "Norm", .with = "LayerNorm", .set = {{"eps", "0.01"}}},
       {9, 0}},
      {"ReplaceWhere",
       ReplaceClass::Config{.replace = "FusedQKV",
                            .with = "SeparateQKV",
                            .at = "**.attention.**",
                            .where = {{"bias", "false"}}},
       {2, 0},
       false,
       /*uses_up=*/true},
      {"WrapClass", WrapClass::Config{.wrap = "FusedQKV", .with = "RoPE"}, {1, 1}},
      {"Chain",
       Chain::Config{.modifiers = {layer_norms, remat("**.up", SaveDots{})}},
       {12, 0},
       false,
       /*uses_up=*/true},
      {"SetFields", steps, {1, 0}, true},
      {"SetMesh", mesh({{"data", -1}}), {1, 0}, true},
      {"SetWhere",
       SetWhere::Config{
           .select = "Attention", .where = {{"num_heads", "4"}}, .set = {{"num_kv_heads", "2"}}},
       {2, 0}},
      {"SetWhereOfEvaluations",
       SetWhere::Config{.select = "Evaler", .set = {{"every_steps", "10"}}},
       {1, 1}},
      {"SetWhereOfTransforms",
       SetWhere::Config{
           .select = "ClipByGlobalNorm", .at = "learner.transforms[1]", .set = {{"max_norm", "1"}}},
       {1, 0}},
      {"SetRemat", remat("**.pattern[*].feed_forward", SaveDots{}), {3, 0}},
      {"CollectStats", CollectStats::Config{.at = "**.pattern[*].feed_forward"}, {4, 0}},
      {"SetPartition",
       SetPartition::Config{.at = "**.up", .partition = PartitionSpec{{{}, "data"}}},
       {4, 0}},
      {"SequenceParallel", SequenceParallel::Config{}, {12, 0}},
      {"SetCore", SetCore::Config{.core = SigmoidAttention::Config{.bias_len = 16}}, {4, 0}},
      {"SetCacheOfAll", SetCache::Config{.cache = PagedKVCache::Config{}}, {3, 0, 1}},
      {"SetCacheOfWindows",
       SetCache::Config{.cache = SlidingKVCache::Config{.window = 8}},
       {1, 0, 3}},
      {"GradientAccumulation", GradientAccumulation::Config{.microbatches = 4}, {1, 0}},
      {"SetEma", SetEma::Config{.ema = ParamEma{.decay = ConstantRate{.value = 0.9}}}, {1, 0}},
      {"DtypePolicy",
       DtypePolicy::Config{.params = DType::kBF16,
                           .rules = {{.pattern = "**.norm.scale", .dtype = DType::kF32}},
                           .at = "model.decoder.layers.pattern[*]"},
       {8, 0}},
      {"DtypePolicyOfSteps", DtypePolicy::Config{.compute = DType::kBF16}, {1, 0}, true},
      {"DtypePolicyOfAPlace",
       DtypePolicy::Config{.compute = DType::kF32, .at = "**.pattern[*].feed_forward"},
       {3, 0}},
      {"SetWhereOfComputeDtypes",
       SetWhere::Config{.select = "Norm", .set = {{"@compute", "f32"}}},
       {9, 0}},
      {"KeepAsCodes",
       KeepAsCodes::Config{.with = QuantizedProduct::Config{.group = 2}},
       {21, 0, 1}},
      {"Lora", Lora::Config{.rank = 2, .also_train = {"**.norm.scale"}}, {23, 0, 1}},
      {"PreferenceTuning", PreferenceTuning::Config{.beta = 0.2}, {1, 0}},
      {"QuantizeProducts", QuantizeProducts::Config{}, {22, 0, 1}},
      {"QuantizeProductsOfAttention",
       QuantizeProducts::Config{.at = "**.qkv.**", .with = DelayedFp8Product::Config{}},
       {6, 0, 17}},
      {"MuP", MuP::Config{.base = {{"model.decoder.model_dim", "8"}}}, {4, 0, 4}},
  };
}

Counts counts_of(const std::vector<Rewrite>& rewrites) {
  Counts out;
  for (const Rewrite& rewrite : rewrites) {
    out.matched += rewrite.report.matched.size();
    out.unchanged += rewrite.report.unchanged.size();
    out.skipped += rewrite.report.skipped.size();
  }
  return out;
}

std::string text_at(const Slot& root, const std::string& path) {
  return to_string(find_slot(root, path));
}

// True if the line at `path` belongs to one of the slots.
bool is_below(const std::string& path, const std::set<std::string>& slots) {
  return std::ranges::any_of(slots, [&](const std::string& slot) {
    return path.starts_with(slot) &&
           (path.size() == slot.size() || path[slot.size()] == '.' || path[slot.size()] == '[');
  });
}

class ModifierLaws : public ::testing::TestWithParam<ModifierLawsCase> {};

TEST_P(ModifierLaws, ReportsWhatItDid) {
  const Trainer::Config before = mixed_config();
  Trainer::Config after = before;
  const std::vector<Rewrite> rewrites = apply_modifier(GetParam().modifier, "modify", after);
  EXPECT_EQ(counts_of(rewrites), GetParam().counts);
  std::set<std::string> matched;
  for (const auto& [what, report, check] : rewrites) {
    EXPECT_NE(what, "");
    // What a rewrite has done itself always suits it.
    if (check) {
      EXPECT_NO_THROW(check(after));
    }
    for (const std::string& path : report.matched) {
      matched.insert(path);
      EXPECT_NE(text_at(before, path), text_at(after, path)) << path;
    }
    for (const std::string& path : report.unchanged)
      EXPECT_EQ(text_at(before, path), text_at(after, path)) << path;
    for (const auto& [path, why] : report.skipped) {
      // What has no slot of its own, as a layer's weight, is listed under the whole model.
      if (path != "model") {
        EXPECT_EQ(text_at(before, path), text_at(after, path)) << path;
      }
      EXPECT_NE(why, "") << path;
    }
  }
  const auto changed = changes(before, after);
  EXPECT_FALSE(changed.empty());
  for (const ConfigChange& change : changed)
    EXPECT_TRUE(is_below(change.path, matched)) << change.path << " is in no report";
}

TEST_P(ModifierLaws, SecondApplicationChangesNothing) {
  Trainer::Config config = mixed_config();
  const Counts first = counts_of(apply_modifier(GetParam().modifier, "modify", config));
  const std::string once = to_string(config);
  if (GetParam().uses_up) {
    EXPECT_THAT(error_of([&] { apply_modifier(GetParam().modifier, "modify", config); }),
                ::testing::HasSubstr("expected at least one match"));
    EXPECT_EQ(to_string(config), once);
    return;
  }
  const Counts second = counts_of(apply_modifier(GetParam().modifier, "modify", config));
  EXPECT_EQ(to_string(config), once);
  EXPECT_EQ(second.matched, 0u);
  EXPECT_GT(second.unchanged, 0u);
  EXPECT_EQ(second.skipped, first.skipped);
}

// Returns the modifier's fields as a file holds them.
nlohmann::ordered_json fields_of(const Child<Modifier>& modifier) {
  nlohmann::ordered_json out = to_json(modifier);
  out.erase("class");
  return out;
}

TEST_P(ModifierLaws, FilesAndFlagsDoTheSame) {
  const std::string name(GetParam().modifier.any().type().name);
  const nlohmann::ordered_json fields = fields_of(GetParam().modifier);
  Trainer::Config by_code = mixed_config(), by_file = by_code, by_flag = by_code;
  apply_modifier(GetParam().modifier, "modify", by_code);
  apply_modifier_named(name, fields, by_file);
  EXPECT_EQ(diff(by_code, by_file), "");
  UseModifier{yaml_text({{name, fields}})}.apply_to(by_flag);
  EXPECT_EQ(diff(by_code, by_flag), "");
}

TEST_P(ModifierLaws, FindingNoMatchIsAnErrorUnlessAllowed) {
  if (GetParam().fits_all) return;
  const Trainer::Config bare{.model = {}, .learner = {}};
  Trainer::Config config = bare;
  const std::string error =
      error_of([&] { apply_modifier(GetParam().modifier, "modify", config); });
  EXPECT_THAT(error, ::testing::HasSubstr(": expected "));
  EXPECT_THAT(error, ::testing::EndsWith("; correct it, or set '@allow_none: true'"));
  Child<Modifier> allowed = GetParam().modifier;
  allowed.options.allow_none = true;
  EXPECT_EQ(counts_of(apply_modifier(allowed, "modify", config)), Counts{});
  EXPECT_EQ(diff(bare, config), "");
}

// Returns the case's modifier with a pattern that matches nothing, once for each of its fields.
std::vector<Child<Modifier>> with_idle_patterns() {
  const std::string idle = "**.no_such_layer";
  return {ReplaceClass::Config{.replace = "RMSNorm", .with = "LayerNorm", .at = idle},
          WrapClass::Config{.wrap = "FusedQKV", .with = "RoPE", .at = idle},
          SetWhere::Config{.select = "Norm", .at = idle, .set = {{"eps", "1"}}},
          remat(idle, SaveDots{}),
          CollectStats::Config{.at = idle},
          SetPartition::Config{.at = idle},
          SetCore::Config{.core = SigmoidAttention::Config{.bias_len = 16}, .at = idle},
          SetCache::Config{.cache = PagedKVCache::Config{}, .at = idle},
          DtypePolicy::Config{.params = DType::kBF16, .at = idle},
          DtypePolicy::Config{.rules = {{.pattern = "**.norm.scale", .dtype = DType::kF32},
                                        {.pattern = idle, .dtype = DType::kF32}}},
          Lora::Config{.at = idle},
          Lora::Config{.except = {idle}},
          Lora::Config{.also_train = {"**.norm.scale", idle}},
          QuantizeProducts::Config{.at = idle},
          QuantizeProducts::Config{.except = {"**.up", idle}}};
}

TEST(ModifierLaws, APatternThatMatchesNothingIsAnErrorUnlessAllowed) {
  for (const Child<Modifier>& modifier : with_idle_patterns()) {
    SCOPED_TRACE(yaml_text(to_json(modifier)));
    Trainer::Config config = mixed_config();
    const std::string before = to_string(config);
    const std::string error = error_of([&] { apply_modifier(modifier, "modify", config); });
    EXPECT_THAT(error, ::testing::HasSubstr("'**.no_such_layer'"));
    EXPECT_THAT(error, ::testing::EndsWith("; correct it, or set '@allow_none: true'"));
    EXPECT_EQ(to_string(config), before);
    Child<Modifier> allowed = modifier;
    allowed.options.allow_none = true;
    EXPECT_NO_THROW(apply_modifier(allowed, "modify", config));
  }
  // The rest of the modifier still counts.
  Trainer::Config config = mixed_config();
  Child<Modifier> allowed = QuantizeProducts::Config{.except = {"**.up", "**.no_such_layer"}};
  allowed.options.allow_none = true;
  EXPECT_GT(counts_of(apply_modifier(allowed, "modify", config)).matched, 0u);
}

std::string name_of(const ::testing::TestParamInfo<ModifierLawsCase>& a_case) {
  return a_case.param.name;
}
INSTANTIATE_TEST_SUITE_P(All, ModifierLaws, ::testing::ValuesIn(cases()), name_of);

TEST(ModifierLaws, AreCheckedForEveryModifier) {
  std::set<std::string_view> checked;
  for (const ModifierLawsCase& c : cases()) checked.insert(c.modifier.any().type().name);
  for (const std::string& name : names_of(typeid(Modifier)))
    EXPECT_TRUE(checked.contains(name)) << name << " has no row in cases()";
}

}  // namespace
}  // namespace axle
