// Every layer has golden numbers, or a test that states its numbers otherwise.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "config/registry.h"
#include "testing/checkout.h"
#include "testing/golden.h"

namespace axle {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The classes that src/layers registers, without the classes of its tests.
std::set<std::string> registered_in_layers() {
  std::set<std::string> out;
  const std::regex row(R"(AXLE_REGISTER\((\w+)\))");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_file("src/layers"))) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
      out.insert((*at)[1]);
  }
  return out;
}

struct Instead {
  const char* file;  // of src/layers
  const char* text;  // the test, which the file must hold
};

// Layers without golden numbers, and where their numbers are stated.
const std::map<std::string, Instead> kInstead = {
    // Compared with a formula.
    {"ALiBi", {"attention/cores/cores_test.cpp", "TEST(ALiBi, SlopesArePublished)"}},
    {"PerDimScale", {"attention/cores/cores_test.cpp", "TEST(PerDimScale, IsOneAtTheStart)"}},
    {"Add", {"blocks/norm_placement_test.cpp", "TEST(Join, WeighsOrGatesTheBody)"}},
    {"GatedAdd", {"blocks/norm_placement_test.cpp", "TEST(Join, WeighsOrGatesTheBody)"}},
    {"ShortConv",
     {"state_space/state_space_test.cpp", "TEST(ShortConv, IsACausalFilterOfEachChannel)"}},
    {"MovingAverage",
     {"moving_average_test.cpp", "TEST(MovingAverage, IsPlainAtFirstAndExponentialLater)"}},
    {"AdaptiveLossScale",
     {"experts/adaptive_loss_scale_test.cpp",
      "TEST(AdaptiveLossScale, GrowsAboveTheRangeAndShrinksBelow)"}},
    {"PreferenceLM",
     {"models/preference_lm_test.cpp", "TEST(PreferenceLM, LossMatchesItsDefinition)"}},
    {"SwitchRouter",
     {"experts/router_test.cpp", "TEST(SwitchRouter, TheWeightIsTheScoreOfTheBestExpert)"}},
    {"Top2Router", {"experts/router_test.cpp", "TEST(Top2Router, WeightsOfTwoSumToOne)"}},
    {"TopKRouter", {"experts/router_test.cpp", "TEST(TopKRouter, ScoresAndWeights)"}},
    {"BalancedRouter",
     {"experts/router_test.cpp", "TEST(BalancedRouter, BiasChangesTheChoiceButNotTheWeights)"}},
    {"QuantizedProduct",
     {"products/quantized_product_test.cpp",
      "TEST(QuantizedProduct, EqualsTheProductWithTheDecodedWeight)"}},
    {"Int8Product",
     {"products/quantized_products_test.cpp", "TEST(Int8Product, EqualsTheFormula)"}},
    {"Fp8Product", {"products/quantized_products_test.cpp", "TEST(Fp8Product, EqualsTheFormula)"}},
    {"DelayedFp8Product",
     {"products/quantized_products_test.cpp",
      "TEST(DelayedFp8Product, HistoriesAndScalesFollowTheSteps)"}},
    // Inside of the golden numbers of the layers that hold them.
    {"PlainProduct", {"dense/projection_test.cpp", "AXLE_LAYER_LAWS(Linear,"}},
    {"LoraProduct", {"experts/moe_test.cpp", "LoraProduct::Config{"}},
    {"StochasticJoin", {"blocks/block_test.cpp", "StochasticJoin::Config{"}},
    {"BorrowedBias", {"attention/biases/biases_test.cpp", "block(BorrowedBias::Config{})}}}"}},
    {"Published", {"attention/sharing_test.cpp", "Published::Config{"}},
    {"SourceQKV", {"attention/sharing_test.cpp", "SourceQKV::Config{"}},
    {"QueryOnly", {"attention/sharing_test.cpp", "QueryOnly::Config{"}},
    {"SharedKVCache", {"attention/sharing_test.cpp", "SharedKVCache::Config{"}},
    {"BorrowedKVCache", {"attention/sharing_test.cpp", "BorrowedKVCache::Config{"}},
    {"Lookback", {"state_space/state_space_test.cpp", "TEST(RAttention, EqualsItsDefinition)"}},
    // Decoding with the cache is compared with one call for all tokens.
    {"DenseKVCache", {"attention/sharing_test.cpp", "TEST(DenseKVCache, HonoursSegments)"}},
    {"SlidingKVCache", {"attention/caches/caches_test.cpp", "SlidingKVCache::Config{"}},
    {"PagedKVCache",
     {"attention/caches/caches_test.cpp", "TEST(PagedKVCache, AllocatesPagesAsRowsGrow)"}},
    {"QuantizedKVCache",
     {"attention/caches/caches_test.cpp", "TEST(QuantizedKVCache, ErrorIsBounded)"}},
};

TEST(Layers, LayersHaveANumericTestEach) {
  const std::set<std::string> ours = registered_in_layers();
  std::set<std::string> layers;
  for (const RoleListing& listing : list_roles()) {
    if (listing.role->inputs.empty()) continue;
    for (const ConfigType* type : listing.classes) {
      if (ours.contains(std::string(type->name))) layers.emplace(type->name);
    }
  }
  EXPECT_GE(layers.size(), 70u);
  for (const std::string& layer : layers) {
    const bool has_golden = std::filesystem::is_directory(testing::golden_folder() / layer);
    EXPECT_NE(has_golden, kInstead.contains(layer))
        << layer << " needs AXLE_LAYER_LAWS or AXLE_CALL_LAWS, or a row in kInstead, not both";
  }
  for (const auto& [layer, test] : kInstead) {
    EXPECT_TRUE(layers.contains(layer)) << layer << " is no layer";
    EXPECT_NE(text_of(source_file(std::string("src/layers/") + test.file)).find(test.text),
              std::string::npos)
        << layer << ": " << test.file << " does not hold " << test.text;
  }
}

}  // namespace
}  // namespace axle
