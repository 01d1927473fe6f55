#include "layers/attention/qkv/key_values.h"

#include <fmt/format.h>

#include "ir/type.h"

namespace axle {

KeyValues KeyValues::read(InputReader& inputs, const std::string& prefix) {
  return {.k_BSKH = inputs.required(prefix + "/key"),
          .v_BSKH = inputs.required(prefix + "/value"),
          .positions_BS = inputs.optional(prefix + "/positions"),
          .segments_BS = inputs.optional(prefix + "/segments")};
}

namespace {

// A size of heads that every part of attention accepts.
constexpr int64_t kGoodHeadDim = 64;

}  // namespace

HeadSizes head_sizes(int64_t model_dim, int64_t num_heads, std::optional<int64_t> num_kv_heads,
                     std::optional<int64_t> head_dim,
                     const std::function<void(std::string_view, std::string_view)>& note) {
  HeadSizes out{.num_heads = num_heads,
                .num_kv_heads = num_kv_heads.value_or(num_heads),
                .head_dim = head_dim.value_or(model_dim / num_heads)};
  if (num_heads % out.num_kv_heads != 0) {
    note("num_kv_heads",
         fmt::format("must divide num_heads, got {} and {}", out.num_kv_heads, num_heads));
    out.num_kv_heads = num_heads;
  }
  if (!head_dim && model_dim % num_heads != 0) {
    note("num_heads", fmt::format("must divide the model dim unless head_dim is set, got {} and {}",
                                  num_heads, model_dim));
    out.head_dim = kGoodHeadDim;
  }
  const Shape weight{model_dim, num_heads, out.head_dim};
  if (!is_countable(weight)) {
    note("num_heads", too_large_text({DType::kF32, weight}));
    out = {.num_heads = 1, .num_kv_heads = 1, .head_dim = kGoodHeadDim};
  }
  return out;
}

}  // namespace axle
