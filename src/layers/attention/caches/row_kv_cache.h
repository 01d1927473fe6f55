// Caches with a place for every position of every sequence.
//
// Letters in tensor names, for this file only:
//   B batch   T new positions   S positions of the cache
#pragma once

#include "layers/attention/caches/kv_cache.h"

namespace axle {

/// A cache in which the key at place s has position s. Subclasses say how keys and values are kept.
///
/// State: segment i32[B, S], which stays zero if calls give no segment ids; that of the subclass.
class RowKVCache : public KVCache {
 public:
  RowKVCache(const Dims& dims, const Scope& scope) : KVCache(scope), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const final;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) final;
  /// Returns the state of keys or of values, by names that begin with `name`, for heads of `size`
  /// elements.
  virtual Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                                     const DecodeDims& dims) const = 0;
  /// Writes new keys or values to row b from place starts[b] on. Returns those of all places, in
  /// the dtype of the new ones.
  virtual Tensor append(const std::string& name, const Tensor& fresh_BT,
                        const Tensor& starts_B) = 0;
  /// Does so with the numbers of one state, unchanged but for the state's dtype. Returns the state.
  Tensor append_to_state(const std::string& name, const Tensor& fresh_BT, const Tensor& starts_B);

  int64_t num_kv_heads() const { return dims_.num_kv_heads; }

 private:
  Dims dims_;
};

}  // namespace axle
