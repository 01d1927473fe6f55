#include "base/host_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() {
    put("proc/meminfo",
        "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    700 kB\nSwapFree: 100 kB\n");
  }
  void put(const fs::path& path, std::string_view text) {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path) << text;
  }
  void expect(int64_t total_kb, int64_t available_kb) {
    const HostMemory memory = host_memory(dir_ / "proc", dir_ / "cgroup");
    EXPECT_EQ(memory.total_bytes, total_kb * 1024);
    EXPECT_EQ(memory.available_bytes, available_kb * 1024);
  }
  const TempDir temp_;
  const fs::path dir_ = temp_.path();
};

TEST_F(HostMemoryTest, ReadsWhatTheSystemReportsAvailable) { expect(1000, 800); }

TEST_F(HostMemoryTest, ContainerLimitsApply) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("cgroup/a/b/memory.max", "max\n");
  put("cgroup/a/memory.max", "409600\n");  // 400 kB
  put("cgroup/a/memory.current", "307200\n");
  put("cgroup/a/memory.stat", "anon 5\nactive_file 51200\ninactive_file 102400\n");
  expect(400, 250);
  put("cgroup/a/b/memory.max", "204800\n");
  put("cgroup/a/b/memory.current", "104448\n");
  expect(200, 98);
  put("cgroup/a/b/memory.current", "999999\n");
  expect(200, 0);
}

TEST_F(HostMemoryTest, ContainerThatSeesOnlyItsOwnCgroupReadsItAtTheRoot) {
  put("proc/self/cgroup", "0::/\n");
  put("cgroup/memory.max", "409600\n");
  put("cgroup/memory.current", "102400\n");
  expect(400, 300);
}

TEST_F(HostMemoryTest, ReadsLimitsOfCgroupsVersion1) {
  put("proc/self/cgroup", "9:cpu:/x\n4:memory:/job\n0::/\n");
  put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("cgroup/memory/job/memory.limit_in_bytes", "512000\n");
  put("cgroup/memory/job/memory.usage_in_bytes", "204800\n");
  put("cgroup/memory/job/memory.stat", "total_inactive_file 102400\n");
  expect(500, 400);
}

TEST_F(HostMemoryTest, AddressSpaceLimitApplies) {
  put("proc/self/statm", "0 0 0\n");
  put("proc/meminfo", "MemTotal: 4294967296 kB\nMemAvailable: 4294967296 kB\n");
  // Far above what the test uses, and below the total in the table.
  const ResourceLimit limit(RLIMIT_AS, rlim_t{1} << 40);
  expect(1 << 30, 1 << 30);
}

TEST_F(HostMemoryTest, IsZeroWhenTheSystemFilesAreMissing) {
  fs::remove_all(dir_);
  expect(0, 0);
}

TEST(HostMemory, IsKnownOnThisMachine) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.available_bytes, 0);
  EXPECT_GE(memory.total_bytes, 64 << 20);
}

}  // namespace
}  // namespace axle
