// Random programs from a seed. The same seed gives the same program everywhere.
#pragma once

#include <random>
#include <utility>

#include "testing/fuzz/devices.h"
#include "testing/fuzz/ops.h"
#include "testing/fuzz/program.h"
#include "testing/host_tensors.h"

namespace axle::testing::fuzz {

struct GenerateOptions {
  bool smooth = false;  // only ops that are differentiable everywhere
  bool hooks = false;   // with steps that a test builds
};

class Generator {
 public:
  explicit Generator(uint64_t seed, GenerateOptions options = {})
      : bits_(seed), options_(options) {}

  Program program() {
    Program out;
    for (size_t i = 2 + below(2); i-- > 0;) out.parameters.push_back(type());
    fill(out, out.parameters.size(), 3 + below(7), 0);
    return out;
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(bits_() % n); }

  Type type() {
    Type out;
    constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF64, DType::kBF16};
    out.dtype = options_.smooth ? DType::kF32 : kDTypes[below(4)];
    if (!options_.smooth && below(8) == 0) out.dtype = DType::kI32;
    for (size_t r = below(3); r > 0; --r) out.dims.push_back(static_cast<int64_t>(1 + below(3)));
    return out;
  }
  // Late values are more likely, so that programs are deep.
  size_t value(size_t count) {
    return below(3) == 0 ? below(count) : count - 1 - below(std::min<size_t>(count, 3));
  }
  std::vector<size_t> values(size_t n, size_t count) {
    std::vector<size_t> out;
    for (; n > 0; --n) out.push_back(value(count));
    return out;
  }

  // Adds steps and results to a program that has `count` values.
  void fill(Program& program, size_t count, size_t steps, int depth) {
    for (; steps > 0; --steps) {
      Step step = options_.hooks && below(6) == 0              ? hook(count)
                  : place_ == Place::kDevices && below(3) == 0 ? collective(count)
                  : depth < 3 && below(static_cast<size_t>(depth) + 2) == 0
                      ? construct(count, depth)
                      : op(count);
      count += step.num_results();
      program.steps.push_back(std::move(step));
    }
    // The last value, and others: what no result needs is not checked.
    program.results = {count - 1};
    for (size_t i = below(3) + (depth == 0 ? 3 : 0); i > 0; --i)
      program.results.push_back(value(count));
  }
  std::vector<int64_t> numbers(size_t count = 3) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < count; ++i) out.push_back(static_cast<int64_t>(below(12)));
    return out;
  }
  Step op(size_t count) {
    Step out;
    do {
      out.op = below(op_table().size());
    } while (!op_table()[out.op].smooth && (options_.smooth || below(2) == 0));
    out.operands = values(op_table()[out.op].num_operands, count);
    out.numbers = numbers();
    return out;
  }
  Step hook(size_t count) { return {.kind = Kind::kHook, .operands = values(1, count)}; }
  Step collective(size_t count) {
    return {.kind = Kind::kCollective, .operands = values(1, count), .numbers = numbers()};
  }
  Step construct(size_t count, int depth) {
    constexpr Kind kKinds[] = {Kind::kScan,      Kind::kScan,     Kind::kScan,     Kind::kRemat,
                               Kind::kRemat,     Kind::kVmap,     Kind::kVmap,     Kind::kCall,
                               Kind::kCustomVjp, Kind::kShardMap, Kind::kShardMap, Kind::kGradient,
                               Kind::kCond,      Kind::kCond,     Kind::kWhile};
    // In smooth programs nothing depends on a value in steps, and nothing stops gradients.
    Step out{.kind = kKinds[below(options_.smooth ? 12 : 15)]};
    if (out.kind == Kind::kShardMap && place_ == Place::kOneOfDevices) out.kind = Kind::kCall;
    out.operands = values(1 + below(4), count);
    if (!options_.smooth || out.kind != Kind::kCustomVjp) out.captures = values(below(3), count);
    out.numbers = out.kind == Kind::kShardMap ? numbers(kNumDivisionNumbers) : numbers();
    if (out.kind == Kind::kScan && out.numbers[1] % 4 == 0) out.numbers[1] += below(6) == 0 ? 0 : 2;
    const size_t num_bodies = out.kind == Kind::kCond ? 1 + below(3) : 1;
    const size_t known = out.captures.size() + (out.kind == Kind::kWhile ? 0 : out.operands.size());
    const Place outside = std::exchange(place_, place_of_bodies(out.kind));
    for (size_t i = 0; i < num_bodies; ++i) {
      Program body;
      fill(body, std::max<size_t>(known, 1), 1 + below(4), depth + 1);
      out.bodies.push_back(std::move(body));
    }
    place_ = outside;
    return out;
  }

  // Devices may take different branches and numbers of iterations: they cannot meet there.
  enum class Place { kOutside, kDevices, kOneOfDevices };
  Place place_of_bodies(Kind kind) const {
    if (kind == Kind::kShardMap) return Place::kDevices;
    const bool is_alone = kind == Kind::kCond || kind == Kind::kWhile;
    return is_alone && place_ == Place::kDevices ? Place::kOneOfDevices : place_;
  }

  std::mt19937_64 bits_;
  GenerateOptions options_;
  Place place_ = Place::kOutside;
};

/// Returns random arguments for a program.
inline std::vector<HostTensor> arguments_for(const Program& program, uint64_t seed) {
  std::vector<HostTensor> out;
  for (const Type& type : program.parameters) {
    const HostTensor values = random_tensor({DType::kF64, type.dims}, ++seed, 1);
    out.push_back(values.astype(type.dtype));
  }
  return out;
}

}  // namespace axle::testing::fuzz
