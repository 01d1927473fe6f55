// Runs the PJRT binding with a plugin that fails on demand. Every failure must become a clear
// DeviceError, without a crash, a hang or a leaked object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "pjrt/abi/calls.h"
#include "pjrt/compiler.h"
#include "pjrt/pjrt_runtime.h"
#include "targets/device_order.h"
#include "testing/error_of.h"
#include "testing/loaded_fake.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using pjrt::ErrorCode;
using testing::Fake;
using testing::fake_target;
using testing::FakeControl;
using ::testing::HasSubstr;

const Mesh kPair{{{"data", 2}}};
const PartitionSpec kByRows{{{"data"}, {}}};

template <class Fn>
std::string device_error(Fn fn) {
  return error_of<DeviceError>(fn);
}

Program copying(int donated_to = -1) {
  Program out = testing::copying_program({DType::kF32, {2, 3}}, kPair,
                                         donated_to >= 0 ? "outputs=1 donate=0" : "outputs=1");
  out.inputs[0].donated_to = donated_to;
  return out;
}

HostTensor sample() { return HostTensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}); }

void measure(const CompiledProgram& program) {
  program.memory();
  program.optimized_program();
  program.cost_analysis();
}

/// Uses every part of the runtime and of the topology compiler. Returns the result that came back
/// from the device.
HostTensor use_everything(const Plugin& plugin) {
  TopologyCompiler compiler(fake_target(2), plugin);
  const auto described = compiler.compile(copying(), {});
  measure(*described);
  PjrtRuntime runtime(plugin, 2);
  auto program = runtime.compile(copying(), {});
  auto loaded = runtime.load(described->serialize(), copying());
  measure(*loaded);
  const auto x = runtime.make_array(sample(), kByRows, kPair);
  x->wait();
  const auto y = program->execute(std::span(&x, 1));
  const auto z = loaded->execute(y);
  z[0]->wait();
  return z[0]->to_host();
}

TEST(Fault, WorksWithoutFaults) {
  Fake fake;
  EXPECT_EQ(use_everything(fake.load()), sample());
  EXPECT_EQ(fake->live_objects, 0);
}

TEST(Fault, WorksWithEventsOfOtherThreads) {
  Fake fake;
  fake->threaded = true;
  EXPECT_EQ(use_everything(fake.load()), sample());
  EXPECT_EQ(fake->live_objects, 0);
  EXPECT_EQ(fake->transfers_not_awaited, 0);
}

TEST(Fault, RowMajorOrderIsAskedFor) {
  Fake fake;  // stores elements in an order that is not row-major
  PjrtRuntime runtime(fake.load(), 1);
  const HostTensor cube({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(runtime.make_array(cube, {}, {})->to_host(), cube);
}

bool is_destroy(int slot) {
  for (int s : {pjrt::ErrorDestroy::kSlot, pjrt::EventDestroy::kSlot, pjrt::ClientDestroy::kSlot,
                pjrt::BufferDestroy::kSlot, pjrt::ExecutableDestroy::kSlot,
                pjrt::LoadedExecutableDestroy::kSlot, pjrt::TopologyDestroy::kSlot}) {
    if (s == slot) return true;
  }
  return false;
}

/// True for calls whose failure use_everything does not report: calls that only give additional
/// information, calls that it does not make, and calls that destroy an object.
bool is_tolerated(int slot) {
  for (int s :
       {pjrt::ErrorMessage::kSlot, pjrt::ErrorGetCode::kSlot, pjrt::PluginAttributes::kSlot,
        pjrt::DeviceMemoryStats::kSlot, pjrt::ClientPlatformName::kSlot,
        pjrt::DeviceDescriptionProcessIndex::kSlot, pjrt::DeviceDescriptionAttributes::kSlot,
        pjrt::BufferIsDeleted::kSlot, pjrt::ExecutableGetCostAnalysis::kSlot,
        pjrt::ExecutableOptimizedProgram::kSlot, pjrt::ExecutableGetCompiledMemoryStats::kSlot,
        pjrt::TopologyPlatformName::kSlot, pjrt::TopologyPlatformVersion::kSlot}) {
    if (s == slot) return true;
  }
  return is_destroy(slot);
}

class FaultyCall : public ::testing::TestWithParam<pjrt::CallName> {};

/// Expects no live object and no pending transfer. A plugin that refuses to destroy an object keeps
/// the object, and one that refuses to await a transfer leaves the transfer pending.
void expect_nothing_left(Fake& fake, int slot, const std::string& message) {
  if (!is_destroy(slot)) {
    EXPECT_EQ(fake->live_objects, 0) << message;
  }
  if (slot != pjrt::EventAwait::kSlot) {
    EXPECT_EQ(fake->transfers_not_awaited, 0) << message;
  }
}

TEST_P(FaultyCall, EveryCodeBecomesADeviceError) {
  const int slot = GetParam().slot;
  for (int code = 1; code <= 16; ++code) {
    Fake fake;
    fake->fail_slot = slot;
    fake->fail_code = static_cast<ErrorCode>(code);
    const auto message = device_error([&] { EXPECT_EQ(use_everything(fake.load()), sample()); });
    EXPECT_THAT(message,
                HasSubstr(is_tolerated(slot) ? "no error"
                                             : name_of(fake->fail_code) + ": ordered failure"));
    expect_nothing_left(fake, slot, message);
  }
}

TEST_P(FaultyCall, LateFailuresReleaseAllObjects) {
  const int slot = GetParam().slot;
  for (int after = 0; after < 8; ++after) {
    Fake fake;
    fake->fail_slot = slot;
    fake->fail_after = after;
    fake->threaded = true;
    const auto message = device_error([&] { use_everything(fake.load()); });
    EXPECT_THAT(message, ::testing::AnyOf("no error", HasSubstr("INTERNAL: ordered failure")));
    expect_nothing_left(fake, slot, message);
  }
}

std::string slot_name(const ::testing::TestParamInfo<pjrt::CallName>& call) {
  return call.param.name;
}
INSTANTIATE_TEST_SUITE_P(Required, FaultyCall, ::testing::ValuesIn(pjrt::required_calls()),
                         slot_name);
INSTANTIATE_TEST_SUITE_P(Optional, FaultyCall, ::testing::ValuesIn(pjrt::optional_calls()),
                         slot_name);

TEST(Fault, UnreadableErrorCodeIsUnknown) {
  Fake fake;
  fake->fail_slot = pjrt::ErrorGetCode::kSlot;
  PjrtRuntime runtime(fake.load(), 2);
  Program bad = copying();
  bad.text = "not a program";
  EXPECT_EQ(device_error([&] { runtime.compile(bad, {}); }),
            "program 'copying': UNKNOWN: 1:1: error: not a fake program");
}

TEST(Fault, MemoryThatRanOutHasItsExitCode) {
  Fake fake;
  PjrtRuntime runtime(fake.load(), 2);
  fake->fail_slot = pjrt::ClientCompile::kSlot;
  for (auto [code, exit_code] : {std::pair(ErrorCode::kResourceExhausted, ExitCode::kDoesNotFit),
                                 std::pair(ErrorCode::kUnimplemented, ExitCode::kDoesNotCompile)}) {
    fake->fail_code = code;
    EXPECT_EQ(thrown_by<DeviceError>([&] { runtime.compile(copying(), {}); }).code, exit_code);
  }
}

TEST(Fault, AFailedRunShowsAtEveryResult) {
  for (bool threaded : {false, true}) {
    Fake fake;
    {
      PjrtRuntime runtime(fake.load(), 2);
      fake->threaded = threaded;
      auto program = runtime.compile(copying(), {});
      const auto x = runtime.make_array(sample(), kByRows, kPair);
      fake->fail_run_on_device = 1;
      const auto y = program->execute(std::span(&x, 1));
      const std::string message = "program 'copying': INTERNAL: device 1 failed";
      EXPECT_EQ(device_error([&] { y[0]->wait(); }), message);
      EXPECT_EQ(device_error([&] { y[0]->to_host(); }), message);
      EXPECT_EQ(x->to_host(), sample());   // the argument is still usable
      program->execute(std::span(&x, 1));  // the results are dropped unread
    }
    EXPECT_EQ(fake->live_objects, 0);
  }
}

TEST(Fault, InterruptedTransferIsAnError) {
  for (int broken = 0; broken < 2; ++broken) {
    Fake fake;
    {
      PjrtRuntime runtime(fake.load(), 2);
      fake->threaded = true;
      const auto x = runtime.make_array(sample(), kByRows, kPair);
      fake->fail_to_host_event = broken;
      EXPECT_EQ(
          device_error([&] { x->to_host(); }),
          "array f32[2, 3] to host: INTERNAL: the transfer to the host broke off in the middle");
      EXPECT_EQ(x->to_host(), sample());  // a second try succeeds
      fake->fail_from_host_event = broken;
      EXPECT_EQ(device_error([&] { runtime.make_array(sample(), kByRows, kPair); }),
                "array f32[2, 3] to device: INTERNAL: the transfer to the device broke off in the "
                "middle");
    }
    EXPECT_EQ(fake->live_objects, 0);
    EXPECT_EQ(fake->transfers_not_awaited, 0);
  }
}

TEST(Fault, DonatedInputsOfARunThatDidNotStartAreKept) {
  Fake fake;
  PjrtRuntime runtime(fake.load(), 2);
  auto program = runtime.compile(copying(0), {});
  const auto x = runtime.make_array(sample(), kByRows, kPair);
  fake->fail_slot = pjrt::LoadedExecutableExecute::kSlot;
  EXPECT_THAT(device_error([&] { program->execute(std::span(&x, 1)); }),
              HasSubstr("program 'copying': INTERNAL: ordered"));
  EXPECT_EQ(x->to_host(), sample());
  fake->reset_failures();
  EXPECT_EQ(program->execute(std::span(&x, 1))[0]->to_host(), sample());
  EXPECT_THAT(device_error([&] { x->to_host(); }), HasSubstr("was donated to program 'copying'"));
}

TEST(Fault, StructSizesFollowThePolicy) {
  Fake exact;
  exact->exact_sizes = true;
  exact->platform = "neuron";
  EXPECT_EQ(use_everything(exact.load("neuron")), sample());  // its policy is StructSizes::kExact
  EXPECT_EQ(exact->live_objects, 0);
  Fake other;
  other->exact_sizes = true;
  EXPECT_THAT(device_error([&] { other.load("fake"); }), HasSubstr("expected struct_size 16, got"));
}

TEST(Fault, RefusedOptionsAreNamed) {
  Fake fake;
  fake->refuse_options = true;
  EXPECT_EQ(device_error([&] { PjrtRuntime(fake.load("cpu"), 2); }),
            "client of plugin 'cpu': INVALID_ARGUMENT: unknown option cpu_device_count");
  Fake other;
  PjrtRuntime runtime(other.load(), 2);
  other->refuse_options = true;
  EXPECT_EQ(error_of<ConfigError>([&] {
              runtime.compile(copying(), {.overrides = {{"lag", "2"}, {"flag", "1"}}});
            }),
            "compiler option flag=1: expected one that plugin 'fake' takes, got: no such compile "
            "option: 'flag'");
  CompileOptions many;
  for (int i = 0; i < 1001; ++i) many.overrides.emplace_back(std::to_string(i), "1");
  EXPECT_EQ(error_of<ConfigError>([&] { runtime.compile(copying(), many); }),
            "compiler_options: expected at most 1000, got 1001");
}

TEST(Fault, OldAndOtherVersionsAreNamed) {
  Fake old;
  old->minor_version = 12;
  EXPECT_THAT(device_error([&] { old.load(); }),
              HasSubstr("expected PJRT API 0.70 or later (this program is built for 0.114), got "
                        "0.12; set AXLE_PLUGIN_FAKE"));
  Fake other;
  other->major_version = 1;
  EXPECT_THAT(device_error([&] { other.load(); }), HasSubstr("got 1.114"));
}

TEST(Fault, ATableThatIsTooSmallIsRefused) {
  Fake small;
  small->api_size = offsetof(pjrt::Api, slots) + sizeof(void*) * pjrt::BufferReadyEvent::kSlot;
  EXPECT_THAT(device_error([&] { small.load(); }),
              HasSubstr("expected a table of calls with PJRT_Buffer_ReadyEvent"));
  Fake hole;
  hole->missing_slot = pjrt::ClientCompile::kSlot;
  EXPECT_THAT(device_error([&] { hole.load(); }), HasSubstr("with PJRT_Client_Compile"));
  Fake none;
  none->no_api = true;
  EXPECT_THAT(device_error([&] { none.load(); }), HasSubstr("got none from GetPjrtApi"));
}

TEST(Fault, MissingOptionalCallsAreReplacedOrNamed) {
  const TempDir temp;
  const fs::path dir = temp.path() / "cache";
  Fake fake;
  fake->missing_slot = pjrt::ExecutableSerialize::kSlot;
  PjrtRuntime runtime(fake.load(), 2);
  auto program = runtime.compile(copying(), {.cache_dir = dir.string()});
  EXPECT_FALSE(fs::exists(dir));  // there was nothing to cache
  EXPECT_THAT(device_error([&] { program->serialize(); }),
              HasSubstr("UNIMPLEMENTED: the plugin (PJRT API 0.114) does not have"));
  Fake other;
  other->missing_slot = pjrt::ExecutableGetCompiledMemoryStats::kSlot;
  EXPECT_FALSE(PjrtRuntime(other.load(), 2).compile(copying(), {})->memory());
}

TEST(Fault, ACacheEntryThatThePluginRefusesIsReplaced) {
  const TempDir temp;
  const fs::path dir = temp.path() / "cache";
  Fake fake;
  PjrtRuntime runtime(fake.load(), 2);
  const CompileOptions options{.cache_dir = dir.string()};
  fake->fail_slot = pjrt::ExecutableSerialize::kSlot;
  EXPECT_TRUE(runtime.compile(copying(), options));  // works although it can't be cached
  fake->reset_failures();
  runtime.compile(copying(), options);
  fake->fail_slot = pjrt::ExecutableDeserializeAndLoad::kSlot;
  EXPECT_TRUE(runtime.compile(copying(), options));
  fake->reset_failures();
  fake->fail_slot = pjrt::ClientCompile::kSlot;
  EXPECT_TRUE(runtime.compile(copying(), options));  // from the cache: the compiler would fail
}

// Signals, exits and standard error belong to the program (pjrt/plugin/plugin_watch.h).
TEST(FaultDeathTest, UnwatchedPluginEndsTheProcessBySignal) {
  using End = FakeControl::End;
  for (auto [end, signal] : {std::pair(End::kAbort, SIGABRT), std::pair(End::kBadAccess, SIGSEGV),
                             std::pair(End::kBusError, SIGBUS)}) {
    Fake fake;
    const Plugin& plugin = fake.load();
    fake->end_slot = pjrt::LoadedExecutableExecute::kSlot;
    fake->end = end;
    EXPECT_EXIT(use_everything(plugin), ::testing::KilledBySignal(signal), "^$");
  }
}

TEST(Fault, AttributesMayBeNull) {
  Fake fake;
  fake->null_attributes = true;
  EXPECT_TRUE(fake.load().attributes().empty());
  Fake other;
  EXPECT_EQ(other.load().attributes().at("stablehlo_current_version"), "1.20.0");
  EXPECT_EQ(other.load().attributes().at("maker"), "tests");
}

TEST(Fault, ArraysAndProgramsAgreeOnTheOrderOfDevices) {
  Fake fake;
  fake->row_from_far_end = true;
  PjrtRuntime runtime(fake.load("tpu"), 4);
  EXPECT_EQ(device_ids(runtime.topology(), {{{"data", 4}}}),
            (std::vector<int64_t>{13, 12, 11, 10}));
  EXPECT_EQ(device_ids(runtime.topology(), kPair), (std::vector<int64_t>{11, 10}));
  // The fake plugin refuses arguments on other devices than the program was compiled for.
  auto program = runtime.compile(copying(), {});
  auto state = Arrays{runtime.make_array(sample(), kByRows, kPair)};
  for (int i = 0; i < 2; ++i) state = program->execute(state);
  EXPECT_EQ(state[0]->to_host(), sample());
}

TEST(Fault, TooManyDevicesAreRefused) {
  Fake fake;
  PjrtRuntime runtime(fake.load(), 4);
  EXPECT_EQ(device_error([&] {
              runtime.make_array(HostTensor::zeros({8}), {}, {{{"data", 8}}});
            }),
            "mesh: expected at most the 4 devices of 'fake', got a mesh of 8");
}

}  // namespace
}  // namespace axle
