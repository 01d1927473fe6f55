// Runs the PJRT binding with a plugin that ends the process on demand.
#include <gtest/gtest.h>

#include <csignal>
#include <span>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "guard/plugin_end_guard.h"
#include "pjrt/compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/loaded_fake.h"

namespace axle {
namespace {

using testing::Fake;
using testing::fake_target;
using testing::FakeControl;

class PluginEndFaultDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { install_plugin_end_guard(); }
  void TearDown() override { set_plugin_watch(nullptr); }
};

// Uses the topology compiler and the runtime, with a program that is loaded from bytes.
void use_everything(const Plugin& plugin) {
  const Mesh pair{{{"data", 2}}};
  const Program copying = testing::copying_program({DType::kF32, {2, 3}}, pair);
  TopologyCompiler compiler(fake_target(2), plugin);
  const std::string bytes = compiler.compile(copying, {})->serialize();
  PjrtRuntime runtime(plugin, 2);
  runtime.compile(copying, {});
  auto program = runtime.load(bytes, copying);
  const HostTensor sample({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const auto x = runtime.make_array(sample, copying.inputs[0].sharding, pair);
  EXPECT_EQ(program->execute(std::span(&x, 1))[0]->to_host(), sample);
}

TEST_F(PluginEndFaultDeathTest, PluginThatEndsTheProcessIsReportedInOneLine) {
  using End = FakeControl::End;
  struct Row {
    int slot;
    bool on_thread;
    const char* line;
  };
  const std::string anywhere = "axle: plugin 'fake' \\(.*\\): expected it to run programs";
  const Row rows[] = {{pjrt::ExecutableDeserializeAndLoad::kSlot, false,
                       "axle: program 'copying', plugin 'fake': expected it to be loaded"},
                      {pjrt::ClientBufferFromHostBuffer::kSlot, false, nullptr},
                      {pjrt::LoadedExecutableExecute::kSlot, false, nullptr},
                      {pjrt::LoadedExecutableExecute::kSlot, true, nullptr},
                      {pjrt::BufferToHostBuffer::kSlot, false, nullptr}};
  for (const Row& row : rows) {
    for (auto [end, reason] : {std::pair(End::kAbort, "no reason given"),
                               std::pair(End::kBadAccess, "no reason given \\(SIGSEGV\\)"),
                               std::pair(End::kBusError, "no reason given \\(SIGBUS\\)"),
                               std::pair(End::kException, "no room")}) {
      Fake fake;
      const Plugin& plugin = fake.load();
      fake->end_slot = row.slot;
      fake->end = end;
      fake->end_on_thread = row.on_thread;
      EXPECT_EXIT(use_everything(plugin),
                  ::testing::ExitedWithCode(static_cast<int>(ExitCode::kDevice)),
                  "^" + (row.line ? row.line : anywhere) +
                      ", got the end of the process: " + reason + "\n$")
          << row.slot;
    }
  }
}

TEST_F(PluginEndFaultDeathTest, EndsOutsideThePluginKeepTheirSignals) {
  Fake fake;
  use_everything(fake.load());
  EXPECT_EXIT(std::abort(), ::testing::KilledBySignal(SIGABRT), "^$");
  EXPECT_EXIT(std::raise(SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "^$");
  EXPECT_EXIT(std::thread([] { throw std::runtime_error("ours"); }).join(),
              ::testing::KilledBySignal(SIGABRT), "terminate called .*ours");
}

}  // namespace
}  // namespace axle
