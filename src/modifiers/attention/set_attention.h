// Sets options of slots. The modifiers of layers build on it.
#pragma once

#include <functional>
#include <string_view>

#include "config/replace.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/cores/scored_core.h"
#include "modifiers/modifier.h"

namespace axle {

/// True for the slots that a modifier changes.
using SlotFilter = std::function<bool(const std::string& path, const Slot& slot)>;

/// Sets the option `name` ("@dtype") of every slot that `wanted` selects to `*value`, which must
/// have the option's type. Returns the paths of the slots.
RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         const SlotFilter& wanted);
/// Sets the option of every slot whose path matches the pattern `at`. Throws NoMatch
/// `<where>.at: ...` if no slot matches.
RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         std::string_view at, std::string_view where);

/// Puts `with` into every slot of its role below the field `model` of the root whose path matches
/// the pattern `at`, as replace_config() does: fields that `with` does not set keep their values. A
/// class that holds another one of the role stays, and what it holds is replaced. Returns the
/// rewrite "KVCache -> PagedKVCache". Slots are skipped, with the reason,
///   for which `refuses` returns one (empty: none);
///   whose new class makes the model refuse to be built.
/// Throws NoMatch if no slot has the role at such a path.
Rewrite put_where_it_fits(ConfigRef root, const AnyConfig& with, const std::string& at,
                          const std::function<std::string(const AnyConfig& old)>& refuses = {});

/// Puts a core into every attention where the model can still be built, and reports the others with
/// the reason. Fields that the core does not set keep the values of the old core.
class SetCore final : public Modifier {
 public:
  struct Config {
    /// The core.
    Child<AttentionCore> core = SoftmaxAttention::Config{};
    /// Pattern of the paths of the slots; "**": everywhere.
    std::string at = "**";
    AXLE_CONFIG(SetCore, core, at)
  };
  SetCore(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no attention takes the core.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Puts a cache into every attention where the model can still be built, and reports the others
/// with the reason: a sliding cache needs a mask with a window, and a layer that borrows the keys
/// of another one has nothing to keep. Caches that share their keys with other layers still do.
class SetCache final : public Modifier {
 public:
  struct Config {
    /// The cache.
    Child<KVCache> cache = DenseKVCache::Config{};
    /// Pattern of the paths of the slots; "**": everywhere.
    std::string at = "**";
    AXLE_CONFIG(SetCache, cache, at)
  };
  SetCache(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no attention takes the cache.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
