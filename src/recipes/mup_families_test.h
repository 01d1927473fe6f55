// The recipes that stand for the families in the tests of MuP, each at a width of 64.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "config/set.h"
#include "recipes/recipe.h"
#include "testing/test_name.h"

namespace axle {

/// A recipe and what makes it small: paths of fields and their texts.
struct MuPFamily {
  std::string recipe;
  std::map<std::string, std::string> fields = {};

  Trainer::Config config() const {
    Trainer::Config out = axle::recipe(recipe);
    for (const auto& [path, text] : fields) set(out, path, text);
    return out;
  }
};
/// For INSTANTIATE_TEST_SUITE_P over families.
inline constexpr auto kNamedByRecipe = [](const auto& info) {
  return test_name(info.param.recipe);
};
inline void PrintTo(const MuPFamily& family, std::ostream* out) { *out << family.recipe; }

namespace family_fields {

inline const std::string kFanIn =
    "{class: VarianceScaling, scale: 1, fan: fan_in, distribution: normal}";

/// The fields of a model of attention and feed-forward layers, with these besides.
inline std::map<std::string, std::string> small(std::map<std::string, std::string> more = {}) {
  more.merge(std::map<std::string, std::string>{{"model.decoder.model_dim", "64"},
                                                {"model.decoder.vocab_size", "264"},
                                                {"model.decoder.layers.num_layers", "1"}});
  return more;
}
inline std::map<std::string, std::string> heads(const std::string& num_kv_heads) {
  const std::string attention = "model.decoder.layers.layer.attention.body.";
  return small({{attention + "num_heads", "4"}, {attention + "num_kv_heads", num_kv_heads}});
}
inline std::map<std::string, std::string> joined(std::map<std::string, std::string> a,
                                                 std::map<std::string, std::string> b) {
  a.merge(std::move(b));
  return a;
}

}  // namespace family_fields

/// GPT-2 draws its hidden weights with a fixed deviation, which MuP refuses: here they have their
/// fans.
inline MuPFamily mup_gpt2() {
  using namespace family_fields;
  const std::string layer = "model.decoder.layers.layer.";
  return {"gpt2-124M", joined(heads("4"), {{"model.@init", kFanIn},
                                           {layer + "attention.body.output.@init", kFanIn},
                                           {layer + "feed_forward.body.down.@init", kFanIn}})};
}

/// One of each family that has a recipe, and one of each kind of layers within it. The first ones
/// are enough for a quick test: dense with a tied table, experts, no attention.
enum class Families { kQuick, kAll };
inline std::vector<MuPFamily> mup_families(Families which) {
  using namespace family_fields;
  const std::string layer = "model.decoder.layers.layer.";
  std::vector<MuPFamily> out = {
      {"quickstart", small()},
      {"mixtral-test", {{"model.decoder.layers.num_layers", "1"}}},
      {"mamba2-test", {{"model.decoder.layers.num_layers", "1"}}},
      {"fuji-test-v1", small()},
      {"gala-test", small()},
      {"gala-sigmoid-85M-4k-hybridnorm-alibi", heads("4")},
      {"honeycrisp-test", small()},
      {"envy-test-bytes", {{"model.decoder.layers.num_layers", "2"}}},
      {"gspmd-16B", joined(heads("2"), {{"model.decoder.layers.num_microbatches", "1"}})},
      mup_gpt2(),
      {"qwen3-0.6B", joined(heads("2"), {{layer + "attention.body.head_dim", "32"},
                                         {layer + "feed_forward.body.hidden_dim.dim", "192"}})},
      {"qwen3-test", {{"model.decoder.layers.num_layers", "1"}}},
      {"gemma3-test", {{"model.decoder.layers.num_layers", "1"}}},
      {"deepseek-v3-test", {{"model.decoder.layers.layers[1].num_layers", "1"}}},
      {"deepseek-v3-test-mtp", {{"model.decoder.layers.layers[1].num_layers", "1"}}},
  };
  if (which == Families::kQuick) out.resize(3);
  return out;
}

}  // namespace axle
