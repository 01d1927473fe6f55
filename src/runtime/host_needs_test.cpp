#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "runtime/memory_estimate.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::vector<ProgramValue> state_of(int64_t num_parameters) {
  return {{"learner/m/w", {DType::kF32, {2, num_parameters}}},
          {"model/w", {DType::kF32, {num_parameters}}},
          {"prng_key", {DType::kU32, {2}}}};
}

int64_t total(const std::vector<HostNeed>& needs) {
  int64_t out = 0;
  for (const HostNeed& need : needs) out += need.bytes;
  return out;
}

// A program that has only memory figures.
class Figures final : public CompiledProgram {
 public:
  explicit Figures(std::optional<MemoryStats> stats) : stats_(stats) {}
  std::string serialize() const override { return {}; }
  std::optional<MemoryStats> memory() const override { return stats_; }
  std::string optimized_program() const override { return {}; }

 private:
  std::optional<MemoryStats> stats_;
};

std::vector<HostNeed> needs_of(const Figures& program, int64_t num_devices, const char* platform) {
  const NamedProgram named{"the step", &program};
  return program_needs(std::span(&named, 1), num_devices, platform);
}

TEST(HostNeeds, StateCountsTwiceOnHostDevices) {
  const auto state = state_of(100);
  EXPECT_EQ(total(state_needs(state, {}, "cpu")), 2 * (3 * 400 + 8));
  EXPECT_EQ(total(state_needs(state, {}, "interpreter")), 2 * (3 * 400 + 8));
  EXPECT_EQ(total(state_needs(state, {}, "cuda")), 3 * 400 + 8);
}

TEST(HostNeeds, TheLargestParameterIsNamed) {
  std::vector<ProgramValue> state = state_of(int64_t{1} << 48);
  state.push_back({"model/decoder/emb/weight", {DType::kF32, {int64_t{1} << 49}}});
  state.push_back({"model/z", {DType::kF32, {3}}});
  EXPECT_THAT(error_of<Error>([&] {
                check_host_memory(state_needs(state, {}, "cpu"),
                                  {.total_bytes = 5, .available_bytes = 5});
              }),
              HasSubstr("; model.decoder.emb.weight 2.0 PiB alone), got 5 "));
}

// A value that no axis shards is replicated on every device. Saving makes one copy of the state.
TEST(HostNeeds, StateCountsForEachReplicaOfTheMesh) {
  auto state = state_of(100);
  const Mesh mesh{{{"data", 2}, {"fsdp", 4}}};
  EXPECT_EQ(total(state_needs(state, mesh, "cpu")), (8 + 1) * (3 * 400 + 8));
  for (ProgramValue& leaf : state) leaf.sharding = {{{"fsdp"}}};
  state[0].sharding = {{{}, {"fsdp"}}};
  // prng_key has two elements, which cannot be sharded over four devices.
  EXPECT_EQ(total(state_needs(state, mesh, "cpu")), (2 + 1) * 3 * 400 + (8 + 1) * 8);
}

TEST(HostNeeds, ProgramNeedsTemporariesAndNewOutputs) {
  const Figures program(MemoryStats{.argument_bytes = 1000,
                                    .output_bytes = 700,
                                    .temporary_bytes = 50,
                                    .alias_bytes = 600,
                                    .code_bytes = 7});
  for (const char* platform : {"cpu", "interpreter"}) {
    EXPECT_EQ(total(needs_of(program, 1, platform)), 50 + 100 + 7) << platform;
    EXPECT_EQ(total(needs_of(program, 4, platform)), 4 * (50 + 100 + 7)) << platform;
  }
  EXPECT_EQ(needs_of(program, 1, "cpu").at(0).what, "temporaries of the step");
  EXPECT_EQ(total(needs_of(program, 4, "cuda")), 0);  // GPUs have memory of their own
  EXPECT_EQ(total(needs_of(Figures({}), 1, "cpu")), 0);
}

TEST(HostNeeds, LargestOfSeveralProgramsCounts) {
  const Figures step(MemoryStats{.output_bytes = 10, .temporary_bytes = 500});
  const Figures evaluation(MemoryStats{.output_bytes = 400, .temporary_bytes = 200});
  for (const bool turned : {false, true}) {
    std::vector<NamedProgram> programs = {{"the step", &step}, {"evalers.held_out", &evaluation}};
    if (turned) std::ranges::reverse(programs);
    const auto needs = program_needs(programs, 2, "cpu");
    EXPECT_EQ(total(needs), 2 * (400 + 200));
    EXPECT_EQ(needs.at(0).what, "temporaries of evalers.held_out");
  }
  const Figures huge(MemoryStats{.temporary_bytes = std::numeric_limits<int64_t>::max() / 2});
  EXPECT_EQ(needs_of(huge, 1024, "cpu").at(0).bytes, std::numeric_limits<int64_t>::max());
}

TEST(HostNeeds, AProgramThatTheHostHasNoRoomForIsRefused) {
  const Figures program(MemoryStats{.temporary_bytes = int64_t{1} << 50});
  EXPECT_THAT(
      error_of<Error>([&] {
        check_program_memory({"the step", &program}, 1, "cpu");
      }),
      HasSubstr("host memory: expected 1.0 PiB for this run (temporaries of the step 1.0 PiB, "));
  EXPECT_EQ(error_of<Error>([&] {
              check_program_memory({"the step", &program}, 1, "cuda");
            }),
            "no error");
}

}  // namespace
}  // namespace axle
