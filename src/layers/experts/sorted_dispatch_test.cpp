// Tokens that are sorted on each device and exchanged between the devices of the experts return
// what one device returns, gradients included, for any loads.
#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "layers/dense/linear.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::normal_values;

constexpr int64_t kExperts = 4, kDim = 4;

testing::TestLayer<MoE> mixture(int64_t top_k) {
  MoE::Config cfg{.num_experts = kExperts,
                  .router = TopKRouter::Config{.top_k = top_k},
                  .hidden_dim = FixedDim{6}};
  cfg.gate = Linear::Config{.bias = false};
  cfg.up = Linear::Config{};
  cfg.down = Linear::Config{};
  return testing::build_for_test<MoE>(cfg, {.model_dim = kDim});
}

// Returns the result, then the gradients by parameters and x, on the simulated devices of a mesh.
std::vector<HostTensor> sorted_dispatch_numbers(testing::TestLayer<MoE>& layer, const HostTensor& x,
                                                const std::string& mesh) {
  std::vector<std::string> paths;
  std::vector<HostTensor> arguments;
  for (const auto& [path, value] : layer.parameters()) {
    paths.push_back(path);
    arguments.push_back(value);
  }
  arguments.push_back(x);
  InvocationOptions options{.training = true};
  from_text(mesh, options.mesh);
  const auto fn = [&](const Values& v) {
    Tree<Tensor> parameters;
    for (size_t i = 0; i < paths.size(); ++i) parameters.emplace(paths[i], v[i]);
    return Values{functional(layer.layer(), parameters, options, [&] {
                    return layer.layer()(v.back(), {});
                  }).first};
  };
  const EvalOptions f64{.f64 = true};
  std::vector<HostTensor> out = eval(fn, arguments, f64);
  const std::vector<HostTensor> cotangent{testing::random_tensor(out[0].type(), 5, 1)};
  for (HostTensor& g : eval(testing::gradient_function(fn, cotangent), arguments, f64))
    out.push_back(std::move(g));
  return out;
}

constexpr std::array kMeshes = {"expert=2",
                                "expert=4",
                                "ep:expert=2",
                                "data=2,expert=2",
                                "fsdp=2,seq=2",
                                "expert=2,seq=3",
                                "expert=2,fsdp=2,seq=2",
                                "pipeline=2,expert=2,model=2",
                                "a:expert=2,b:expert=2"};

void expect_same_on_meshes(testing::TestLayer<MoE>& layer, const HostTensor& x) {
  const std::vector<HostTensor> expected = sorted_dispatch_numbers(layer, x, "");
  for (const char* mesh : kMeshes) {
    const std::vector<HostTensor> actual = sorted_dispatch_numbers(layer, x, mesh);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(testing::relative_difference(actual[i], expected[i]), 1e-12) << mesh << ", " << i;
  }
}

TEST(SortedDispatch, ResultsAreTheSameOnEveryMesh) {
  const HostTensor x = normal_values({4, 6, kDim}, 3);
  for (const int64_t top_k : {1, 2, 3, 4}) {
    SCOPED_TRACE(top_k);
    auto layer = mixture(top_k);
    expect_same_on_meshes(layer, x);
  }
}

// The experts 2 and 3 get all choices: the devices that have them receive the largest load.
TEST(SortedDispatch, DropsNothingIfOneDeviceGetsAll) {
  HostTensor x = normal_values({4, 6, kDim}, 3), router(Type{DType::kF32, {kDim, kExperts}});
  for (size_t i = 0; i < 4 * 6; ++i) x.values<float>()[i * kDim] = 3;
  router.values<float>()[2] = 5;
  router.values<float>()[3] = 4;
  for (const int64_t top_k : {1, 2}) {
    SCOPED_TRACE(top_k);
    auto layer = mixture(top_k);
    layer.set("router/weight", router);
    expect_same_on_meshes(layer, x);
  }
}

// Rows that the mesh does not divide are on several devices, and each of them sends its copy.
TEST(SortedDispatch, TakesAnyBatch) {
  auto layer = mixture(2);
  expect_same_on_meshes(layer, normal_values({3, 5, kDim}, 3));
}

// One device has no exchange; several have two in each direction of differentiation.
TEST(SortedDispatch, ExchangesTokensOnlyOverTheExpertAxis) {
  auto layer = mixture(2);
  const auto program = [&](const std::string& mesh) {
    InvocationOptions options;
    from_text(mesh, options.mesh);
    std::vector<Type> types;
    for (const auto& [path, value] : layer.parameters()) types.push_back(value.type());
    types.push_back({DType::kF32, {4, 6, kDim}});
    return print(*trace(
        [&](const Values& v) {
          Tree<Tensor> parameters;
          size_t i = 0;
          for (const auto& [path, value] : layer.parameters()) parameters.emplace(path, v[i++]);
          return Values{functional(layer.layer(), parameters, options, [&] {
                          return layer.layer()(v.back(), {});
                        }).first};
        },
        types));
  };
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(program(""), "shard_map"), 0);
  EXPECT_EQ(count(program("data=2"), "shard_map"), 1);
  EXPECT_EQ(count(program("data=2"), "ragged_all_to_all"), 0);
  EXPECT_EQ(count(program("expert=2"), "ragged_all_to_all"), 2);
}

}  // namespace
}  // namespace axle
