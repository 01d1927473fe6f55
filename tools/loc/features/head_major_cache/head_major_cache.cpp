// A cache layout that the library lacks: the positions of one head lie side by side.
//
// Letters in tensor names:
//   B batch   T new positions   S positions of the cache   K key/value heads   H head dim
#include "layers/attention/caches/dense_kv_caches.h"
#include "world/experiment.h"

using namespace axle;

/// Keeps every position of every sequence, the heads before the positions.
///
/// State: key and value [B, K, S, H], in the dtype of DecodeDims; segment i32[B, S].
class HeadMajorKVCache final : public KVCache {
 public:
  struct Config {
    AXLE_CONFIG(HeadMajorKVCache)
  };
  HeadMajorKVCache(const Config&, const Dims& dims, const Scope& scope)
      : KVCache(scope), dims_(dims) {}

  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override {
    const auto heads = [&](int64_t size) {
      return StateSpec{
          .type = {dims.dtype, {dims.batch_size, dims_.num_kv_heads, dims.max_len, size}}};
    };
    return {{join_path(path(), "key"), heads(dims_.head_dim)},
            {join_path(path(), "value"), heads(dims_.value_size())},
            {join_path(path(), "segment"), cached_token_spec(dims.batch_size, dims.max_len)}};
  }

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override {
    if (!decoding()) return fresh_BTKH;
    const Tensor starts_B = index_in_dim(*fresh_BTKH.positions_BS, 1, 0);
    KeyValues all{.k_BSKH = append("key", fresh_BTKH.k_BSKH, starts_B),
                  .v_BSKH = append("value", fresh_BTKH.v_BSKH, starts_B)};
    if (fresh_BTKH.segments_BS) {
      all.segments_BS = append_rows(state("segment"), *fresh_BTKH.segments_BS, starts_B);
      set_state("segment", *all.segments_BS);
    } else {
      set_state("segment", state("segment"));
    }
    return all;
  }

 private:
  // Returns all positions, [B, S, K, H].
  Tensor append(std::string_view name, const Tensor& fresh_BTKH, const Tensor& starts_B) {
    const Tensor kept_BSKH = transpose(state(name), {0, 2, 1, 3});
    const Tensor all_BSKH = append_rows(kept_BSKH, fresh_BTKH, starts_B);
    set_state(name, transpose(all_BSKH, {0, 2, 1, 3}));
    return astype(all_BSKH, fresh_BTKH.dtype());
  }

  Dims dims_;
};
AXLE_REGISTER(HeadMajorKVCache)

void add_head_major_cache(ConfigRef world) {
  replace_config<KVCache>(world, HeadMajorKVCache::Config{});
}
AXLE_REGISTER(add_head_major_cache, "head_major_cache")
