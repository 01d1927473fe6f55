// Runs eval-op on JAX's numbers, through the verb and the files that a user would write.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/run_test.h"
#include "io/safetensors.h"
#include "testing/checkout.h"

namespace axle {
namespace {

// Runs every case of the file, and checks that each result of the reference is compared.
void expect_op_agreement(const std::string& name,
                         const std::function<bool(const std::string&)>& is_result) {
  const std::string reference = reference_file("jax/" + name + ".safetensors");
  const Ran ran =
      run_axle({"eval-op", source_file("testdata/eval_op/" + name + ".yaml").string(), "--inputs",
                reference, "--backend", "interpreter", "--json", "--compare", reference});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  std::set<std::string> compared;
  for (const auto& tensor : json["tensors"]) {
    EXPECT_EQ(tensor["verdict"], "ok") << tensor;
    compared.insert(tensor["name"]);
  }
  for (const auto& failure : json["failures"]) ADD_FAILURE() << failure;
  for (const std::string& tensor : SafetensorsFile(reference).names())
    EXPECT_EQ(compared.contains(tensor), is_result(tensor)) << tensor;
}

TEST(OpsByFiles, AgreeWithTheFixture) {
  expect_op_agreement("ops", [](const std::string& name) {
    const std::string part = name.substr(name.find('/') + 1);
    return part.starts_with("out") || part.starts_with("grad");
  });
}

// poisson_4 of rbg is a placeholder: JAX draws Poisson numbers with threefry only.
TEST(RandomNumbersByFiles, AgreeWithTheFixture) {
  expect_op_agreement("random", [](const std::string& name) {
    return !name.starts_with("rbg/") || !name.ends_with("/poisson_4");
  });
}

}  // namespace
}  // namespace axle
