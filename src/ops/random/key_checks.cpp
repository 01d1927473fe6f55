#include "ops/random/key_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/op_rules.h"
#include "ops/checks.h"

namespace axle::random {

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
