// The random numbers of Python's module random, so that draws agree with programs in Python.
//
// Source: CPython 3.11, Lib/random.py and Modules/_randommodule.c; Matsumoto and Nishimura 1998,
// "Mersenne Twister".
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace axle {

class PythonRandom {
 public:
  /// random.Random(seed), for seeds of 32 bits.
  explicit PythonRandom(uint32_t seed);
  /// random(): in [0, 1), with 53 bits.
  double next();
  /// randrange(n), for n > 0.
  size_t below(size_t n);
  /// sample(range(n), k): distinct numbers below n, in the order of the draws. k is at most n.
  std::vector<size_t> sample(size_t n, size_t k);

 private:
  std::mt19937 generator_;
};

}  // namespace axle
