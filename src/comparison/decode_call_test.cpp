// prefill, then extend_step: for each cache, the output of one is the input of the other.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text/yaml.h"
#include "comparison/eval_layer.h"
#include "comparison/eval_layer_files.h"
#include "pjrt/pjrt_runtime.h"

namespace axle {
namespace {

constexpr int64_t kDim = 4;

class DecodeCall : public ::testing::TestWithParam<std::string> {
 protected:
  Tree<HostTensor> run(std::string_view attention, const Tree<HostTensor>& inputs,
                       const std::string& method, std::optional<int64_t> cache_len = {}) {
    const std::string text =
        fmt::format("class: Attention\nconfig: {{num_heads: 2, {}}}\ndims: {{model_dim: {}}}\n",
                    attention, kDim);
    const auto layer = build_layer(read_layer_file(parse_yaml(text, "x.yaml"), "x.yaml"));
    return eval_layer(*layer, {}, inputs,
                      {.method = method, .init_seed = 1, .cache_len = cache_len}, *runtime_);
  }
  std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

// Returns tokens `first` to `last` of a text.
HostTensor tokens(int64_t first, int64_t last) {
  HostTensor out(Type{DType::kF32, {1, last - first, kDim}});
  for (int64_t i = 0; i < out.size(); ++i)
    out.values<float>()[i] = std::sin(static_cast<float>(first * kDim + i) * 1.7F);
  return out;
}

TEST_P(DecodeCall, ContinuesFromItsOwnCaches) {
  const std::string attention =
      "kv_cache: " + GetParam() + ", mask: {class: SlidingWindowMask, window: 3}";
  const Tree<HostTensor> whole = run(attention, {{"in/x", tokens(0, 7)}}, "forward");
  for (const int64_t cache_len : {7, 8, 12}) {
    Tree<HostTensor> before = run(attention, {{"in/x", tokens(0, 5)}}, "prefill", cache_len);
    for (int32_t place = 5; place < 7; ++place) {
      Tree<HostTensor> inputs = {{"in/x", tokens(place, place + 1)},
                                 {"in/context/positions", HostTensor({1, 1}, {place})}};
      for (const auto& [name, value] : before) {
        if (name.starts_with("state/")) inputs.emplace(name, value);
      }
      before = run(attention, inputs, "extend_step");
      for (int64_t d = 0; d < kDim; ++d) {
        EXPECT_NEAR(before.at("out").at(d), whole.at("out").at(place * kDim + d), 0.02)
            << cache_len << " " << place;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, DecodeCall,
                         ::testing::Values("DenseKVCache", "QuantizedKVCache",
                                           "{class: PagedKVCache, page_size: 2}",
                                           "{class: PagedKVCache, page_size: 5}",
                                           "{class: PagedKVCache, page_size: 2, num_pages: 9}",
                                           "{class: SlidingKVCache, window: 4}"));

// Keys of other tokens are computed at each call.
TEST_F(DecodeCall, KeysOfASourceAreNotCached) {
  const std::string attention = "qkv: SourceQKV, mask: none";
  Tree<HostTensor> inputs = {
      {"in/x", tokens(0, 2)},
      {"in/published/source", tokens(7, 10)},
      {"in/published/source/segments", HostTensor({1, 3}, {int32_t{1}, 1, 1})},
      {"in/context/segment_ids", HostTensor({1, 2}, {int32_t{1}, 1})}};
  const Tree<HostTensor> whole = run(attention, inputs, "prefill");
  for (const auto& [name, value] : whole) EXPECT_FALSE(name.starts_with("state/")) << name;
  inputs.at("in/x") = tokens(1, 2);
  inputs.at("in/context/segment_ids") = HostTensor({1, 1}, {int32_t{1}});
  const Tree<HostTensor> next = run(attention, inputs, "extend_step");
  for (int64_t d = 0; d < kDim; ++d)
    EXPECT_NEAR(next.at("out").at(d), whole.at("out").at(kDim + d), 1e-6);
}

}  // namespace
}  // namespace axle
