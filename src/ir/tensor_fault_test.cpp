// Graphs in a host whose memory runs out: each allocation of a trace fails once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "ir/op_rules.h"

namespace axle {
namespace {

// Allocations until all fail; negative: none fails.
thread_local int64_t allocations_left = -1;

}  // namespace
}  // namespace axle

void* operator new(size_t size) {
  if (axle::allocations_left == 0) throw std::bad_alloc();
  if (axle::allocations_left > 0) --axle::allocations_left;
  if (void* const memory = std::malloc(size + 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace axle {
namespace {

const OpRules fault_rules({.name = "test_fault",
                           .infer = [](const OpNode& op) -> std::vector<Type> {
                             return {op.inputs[0].type()};
                           },
                           .eval = {},
                           .hlo = "test.fault",
                           .cost = kNoFlops});

// Ops of which each holds the last reference to a region.
void trace_nested(int num_ops) {
  Region region;
  const Tensor x = region.add_parameter({DType::kF32, {2}});
  for (int i = 0; i < num_ops; ++i) {
    auto body = std::make_shared<Region>();
    const Tensor inner = body->add_parameter({DType::kF32, {2}});
    body->set_results({body->append(fault_rules, {inner}, {}, {})->result()});
    region.append(fault_rules, {x}, {}, {std::move(body)});
  }
}

// Returns false if memory ran out.
bool trace_with(int64_t num_allocations, int num_ops) {
  allocations_left = num_allocations;
  try {
    trace_nested(num_ops);
  } catch (const std::bad_alloc&) {
    allocations_left = -1;
    return false;
  }
  allocations_left = -1;
  return true;
}

// In a process of its own: a failure is the end of it.
TEST(OutOfMemory, RegionsAreFreedAfterRunningOutOfMemory) {
  const auto run_out = [] {
    int64_t num = 0;
    while (!trace_with(num, 40)) ++num;
    std::fprintf(stderr, "%d", num > 40 && !trace_with(num - 1, 400) && trace_with(-1, 400));
    ::_exit(0);
  };
  EXPECT_EXIT(run_out(), ::testing::ExitedWithCode(0), "^1$");
}

}  // namespace
}  // namespace axle
