// Every layer has golden numbers, or a test of its own that states its numbers otherwise.
#include <gmock/gmock.h>

#include <set>
#include <typeindex>

#include "config/register.h"
#include "layers/norms/norm.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// Registered as every layer is, and forgotten by all tests.
class ForgottenNorm final : public Norm {
 public:
  struct Config {
    AXLE_CONFIG(ForgottenNorm)
  };
  ForgottenNorm(const Config&, const Dims&, const Scope& scope) : Norm(scope) {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
AXLE_REGISTER(ForgottenNorm)

bool is_of_a_test(const ConfigType& type) {
  return std::string_view(type.owner->name()).find("_GLOBAL__N_") != std::string_view::npos;
}

// All layers that are registered: roles of layers have named inputs.
std::vector<const ConfigType*> registered_layers() {
  std::vector<const ConfigType*> out;
  for (const Listing& listing : list_roles()) {
    if (!listing.role->inputs.empty())
      out.insert(out.end(), listing.classes.begin(), listing.classes.end());
  }
  return out;
}

// The names of the layers that no case of the laws holds, at any depth, and that no suite of tests
// is named after.
std::set<std::string_view> without_numbers(const std::vector<const ConfigType*>& layers) {
  std::set<std::type_index> in_laws;
  for (const auto& visit_cases : testing::all_laws())
    visit_cases([&](const Layer& layer) { in_laws.insert(typeid(layer)); });
  std::set<std::string> suites;
  const auto& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i)
    suites.insert(program.GetTestSuite(i)->name());
  std::set<std::string_view> out;
  for (const ConfigType* layer : layers) {
    if (!in_laws.contains(*layer->owner) && !suites.contains(std::string(layer->name)))
      out.insert(layer->name);
  }
  return out;
}

TEST(Layers, LayersHaveANumericTestEach) {
  std::vector<const ConfigType*> layers = registered_layers();
  std::erase_if(layers, [](const ConfigType* layer) { return is_of_a_test(*layer); });
  EXPECT_GE(layers.size(), 70u);
  EXPECT_THAT(without_numbers(layers), IsEmpty())
      << "they need AXLE_LAYER_LAWS or AXLE_CALL_LAWS, or tests whose suite has the layer's name";
}

TEST(Layers, ALayerWithoutATestIsFound) {
  EXPECT_THAT(without_numbers(registered_layers()), Contains("ForgottenNorm"));
}

}  // namespace
}  // namespace axle
