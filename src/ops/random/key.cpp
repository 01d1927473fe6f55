#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/random/random.h"
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

void check_key(std::string_view op, const Key& key, std::initializer_list<PrngImpl> kinds) {
  if (!key.shape().empty()) {
    shape_error(op,
                fmt::format("expected one key, got an array of keys {}; draw with each under vmap",
                            to_text(key.shape())),
                {key.data()});
  }
  if (std::ranges::find(kinds, key.impl()) != kinds.end()) return;
  std::string expected;
  for (const PrngImpl kind : kinds) expected += (expected.empty() ? "" : " or ") + to_text(kind);
  shape_error(op,
              fmt::format("expected a key of {}, got one of {}; the functions of random.h take "
                          "every kind",
                          expected, to_text(key.impl())),
              {key.data()});
}

void check_bits(std::string_view op, const Key& key, int width, const Shape& shape) {
  if (width != 8 && width != 16 && width != 32 && width != 64)
    shape_error(op, fmt::format("expected 8, 16, 32 or 64 bits, got {}", width), {key.data()});
  check_sizes(op, "sizes", shape, {key.data()});
}

void check_words(std::string_view op, const Tensor& high, const Tensor& low) {
  const Type word{DType::kU32, {}};
  if (high.type() == word && low.type() == word) return;
  shape_error(op,
              fmt::format("expected two words u32[], got {} and {}", to_text(high.type()),
                          to_text(low.type())),
              {high, low});
}

}  // namespace axle::random
