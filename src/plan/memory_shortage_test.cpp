#include <gtest/gtest.h>

#include <cmath>

#include "plan/memory_needs.h"

namespace axle {
namespace {

int64_t gib(double n) { return std::llround(n * 0x1p30); }

struct Case {
  const char* refusal;
  int64_t needed, available;
  const char* of = "";
};

TEST(MemoryShortage, IsReadFromKnownSentences) {
  for (const Case& c : {
           Case{"program 'step': RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory "
                "on HBM, the total memory required for HLO temporaries (200.97G) exceeds available "
                "HBM (95.73G). HLO module: step. See https://openxla.org/xla/errors/error_1000 for "
                "more details.",
                gib(200.97), gib(95.73), "temporaries"},
           Case{"XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used "
                "18.32G of 15.75G hbm. Exceeded hbm capacity by 2.57G. Total hbm usage >= 18.58G",
                gib(18.32), gib(15.75)},
           Case{"Aborting compilation early because it's unlikely to have enough device memory. "
                "Requires 3.84T, has 90.96G available. If more detailed logging is desired",
                gib(3.84 * 1024), gib(90.96)},
           Case{"TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding "
                "available bytes: 95.74G",
                gib(34.82) + gib(174.10), gib(95.74)},
           Case{"Used 2.00GiB of 512.00MiB hbm.", gib(2), gib(0.5)},
           Case{"Requires 300B, has 200 available", 300, 200},
       }) {
    SCOPED_TRACE(c.refusal);
    const auto shortage = read_memory_shortage(c.refusal);
    ASSERT_TRUE(shortage);
    EXPECT_NEAR(static_cast<double>(shortage->needed), static_cast<double>(c.needed), 1);
    EXPECT_EQ(shortage->available, c.available);
    EXPECT_EQ(shortage->of, c.of);
  }
}

TEST(MemoryShortage, IsNotGuessed) {
  for (const char* refusal : {
           "",
           "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.",
           // About another memory than the device's main memory.
           "Ran out of memory in memory space vmem. Used 20.00M of 16.00M vmem. Exceeded vmem "
           "capacity by 4.00M.",
           // Both sizes are printed as equal, so the shortage is not known.
           "Used 15.75G of 15.75G hbm. Exceeded hbm capacity by 1.2K.",
           "Used 1.5.5G of 1G hbm",
           "Used 99999999999999999999E of 1G hbm",
       })
    EXPECT_FALSE(read_memory_shortage(refusal)) << refusal;
}

// The text is what libtpu prints after the first line.
TEST(LargestBuffers, AreReadFromARefusal) {
  const auto all = read_largest_buffers(R"(
Program hbm requirement 18.32G:
    HLO temp         18.32G (100.0% utilization)

  Largest program allocations in hbm:

  1. Size: 4.00G
     Operator: op_name="backward/model/decoder/layers/scan"
     Shape: bf16[32,4,4096,4096]{3,2,1,0:T(8,128)(2,1)}
     Unpadded size: 4.00G
     XLA label: fusion.12 = fusion(...), kind=kLoop
     Allocation type: HLO temp
     ==========================

  2. Size: 1.50M
     Shape: f32[384,1024]{1,0:T(8,128)}
     XLA label: copy.3 = copy(...)
)");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].bytes, int64_t{4} << 30);
  EXPECT_EQ(all[0].layer, "model/decoder/layers");
  EXPECT_EQ(all[0].op, "scan");
  EXPECT_TRUE(all[0].backward);
  EXPECT_EQ(all[0].shape, "bf16[32,4,4096,4096]");
  EXPECT_EQ(all[1].bytes, 3 << 19);
  EXPECT_EQ(all[1].op, "copy.3");
  EXPECT_TRUE(read_largest_buffers("").empty());
  EXPECT_TRUE(read_largest_buffers("1. Size: \n. Size: 4G\nShape: f32[2]").size() <= 1);
}

}  // namespace
}  // namespace axle
