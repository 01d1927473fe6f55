#include "evaluate/metrics/python_random.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <set>

namespace axle {
namespace {

// The beginning of the generator for a key of one word ("init_by_array"), as a seed sequence: a
// generator takes the words of such a sequence as its state.
class StateOfSeed {
 public:
  using result_type = uint32_t;
  explicit StateOfSeed(uint32_t seed) : seed_(seed) {}
  template <class It>
  void generate(It begin, It end) const {
    const auto n = static_cast<uint32_t>(end - begin);
    begin[0] = 19650218U;
    const auto mixed = [&](uint32_t i) { return begin[i - 1] ^ (begin[i - 1] >> 30U); };
    for (uint32_t i = 1; i < n; ++i) begin[i] = static_cast<uint32_t>(1812433253U * mixed(i) + i);
    uint32_t at = 1;
    const auto advance = [&] {
      if (++at < n) return;
      begin[0] = begin[n - 1];
      at = 1;
    };
    for (uint32_t k = 0; k < n; ++k) {
      begin[at] = static_cast<uint32_t>((begin[at] ^ (mixed(at) * 1664525U)) + seed_);
      advance();
    }
    for (uint32_t k = 1; k < n; ++k) {
      begin[at] = static_cast<uint32_t>((begin[at] ^ (mixed(at) * 1566083941U)) - at);
      advance();
    }
    begin[0] = 0x80000000U;
  }
  // What the requirements of a seed sequence name besides.
  size_t size() const { return 1; }
  template <class It>
  void param(It out) const {
    *out = seed_;
  }

 private:
  uint32_t seed_;
};

}  // namespace

PythonRandom::PythonRandom(uint32_t seed) {
  StateOfSeed state(seed);
  generator_.seed(state);
}

double PythonRandom::next() {
  const uint64_t high = generator_() >> 5U, low = generator_() >> 6U;
  return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
}

size_t PythonRandom::below(size_t n) {
  const auto bits = static_cast<uint32_t>(std::bit_width(n));
  const auto draw = [&]() -> size_t {
    if (bits <= 32) return generator_() >> (32 - bits);
    const uint64_t low = generator_();
    return low | (static_cast<uint64_t>(generator_() >> (64 - bits)) << 32U);
  };
  size_t out = draw();
  while (out >= n) out = draw();
  return out;
}

std::vector<size_t> PythonRandom::sample(size_t n, size_t k) {
  // Python draws from a list of what is left, or draws again what it has: whichever is smaller.
  size_t size_of_set = 21;
  if (k > 5) {
    const double power = std::ceil(std::log(static_cast<double>(3 * k)) / std::log(4.0));
    size_of_set += static_cast<size_t>(std::pow(4.0, power));
  }
  std::vector<size_t> out;
  if (n <= size_of_set) {
    std::vector<size_t> left(n);
    std::iota(left.begin(), left.end(), size_t{0});
    for (size_t i = 0; i < k; ++i) {
      const size_t at = below(n - i);
      out.push_back(left[at]);
      left[at] = left[n - i - 1];
    }
    return out;
  }
  std::set<size_t> taken;
  while (out.size() < k) {
    const size_t drawn = below(n);
    if (taken.insert(drawn).second) out.push_back(drawn);
  }
  return out;
}

}  // namespace axle
