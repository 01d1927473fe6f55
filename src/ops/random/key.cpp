#include "ops/random/key.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/random/random.h"
#include "ops/rules.h"

namespace axle::random {

Key Key::wrap(const Tensor& words, PrngImpl impl) {
  const int64_t length = impl == PrngImpl::kThreefry2x32 ? 2 : 4;
  if (words.dtype() != DType::kU32 || words.rank() < 1 || words.dim(-1) != length) {
    shape_error("Key::wrap",
                fmt::format("expected u32[.., {}] for {}, got {}; give the words of a key of this "
                            "generator",
                            length, to_text(impl), to_text(words.type())));
  }
  return {words, impl};
}

Shape Key::shape() const {
  Shape dims = data_.shape();
  dims.pop_back();
  return dims;
}

Key random_key(int64_t seed, PrngImpl impl) {
  return Key::wrap(constant(key_words(seed, impl)), impl);
}

}  // namespace axle::random
