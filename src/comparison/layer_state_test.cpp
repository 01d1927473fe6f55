// The state that a layer reads, given in files.
#include <gmock/gmock.h>

#include "base/text/yaml.h"
#include "comparison/eval_layer.h"
#include "comparison/eval_layer_files.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::string error_with(const Tree<HostTensor>& state) {
  constexpr std::string_view kBatchNorm = "class: BatchNorm\ndims: {input_dim: 4}\n";
  Tree<HostTensor> inputs = {{"in/x", HostTensor::ones({2, 3, 4})}};
  put_subtree(inputs, "state", state);
  return error_of<Error>([&] {
    const auto layer =
        build_layer(read_layer_file(parse_yaml(kBatchNorm, "layer.yaml"), "layer.yaml"));
    eval_layer(*layer, {}, inputs, {.init_seed = 0}, *make_runtime({.backend = "interpreter"}));
  });
}

TEST(LayerState, HasTheTypesOfTheLayer) {
  const HostTensor ones = HostTensor::ones({4});
  EXPECT_EQ(error_with({{"moving_mean", ones}, {"moving_variance", ones}}), "no error");
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{2, 3, 4}}) {
    EXPECT_THAT(error_with({{"moving_mean", HostTensor::ones(shape)}, {"moving_variance", ones}}),
                HasSubstr("state/moving_mean: expected [4], got ["));
  }
  EXPECT_THAT(error_with({{"moving_mean", HostTensor::zeros({4}, DType::kI32)}}),
              HasSubstr("state/moving_mean: expected f32[4], got i32[4]"));
  EXPECT_THAT(error_with({{"moving_men", ones}}), HasSubstr("state/moving_men: not state of"));
}

TEST(LayerState, MissingStateIsAnError) {
  EXPECT_THAT(error_with({{"moving_mean", HostTensor::ones({4})}}),
              HasSubstr("moving_variance: expected its state in this call, got none; give it as "
                        "state/moving_variance"));
}

}  // namespace
}  // namespace axle
