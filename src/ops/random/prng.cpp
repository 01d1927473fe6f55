#include "ops/random/prng.h"

#include "ops/rules.h"

namespace axle::random {
namespace {

thread_local PrngOptions g_options;

}  // namespace

PrngScope::PrngScope(PrngOptions options) : outer_(g_options) { g_options = options; }
PrngScope::~PrngScope() { g_options = outer_; }

const PrngOptions& prng_options() { return g_options; }

PrngImpl impl_of(const Tensor& words) {
  const int64_t length = words.dtype() == DType::kU32 && words.rank() > 0 ? words.dim(-1) : 0;
  if (length == 2) return PrngImpl::kThreefry2x32;
  if (length == 4) return g_options.wide_keys;
  shape_error("random", "expected a key u32[2] or u32[4]", {words});
}

}  // namespace axle::random
