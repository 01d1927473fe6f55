// How tests steer the fake PJRT plugin: a struct inside the loaded plugin, found by
// dlsym("axle_fake_control").
#pragma once

#include <atomic>
#include <cstddef>

#include "pjrt/abi.h"

namespace axle::testing {

struct FakeControl {
  // What GetPjrtApi reports. Set before the plugin is loaded by the library.
  int major_version = pjrt::kMajor;
  int minor_version = pjrt::kMinor;
  size_t api_size = sizeof(pjrt::Api);
  int missing_slot = -1;  // its entry is null
  bool no_api = false;    // GetPjrtApi gives null
  bool null_attributes = false;
  const char* platform = "fake";  // the platform's name, as clients and topologies tell it
  const char* device_kind = "fake chip";

  // Failures: the call of `fail_slot` fails with `fail_code`, after `fail_after` successful ones.
  int fail_slot = -1;
  pjrt::ErrorCode fail_code = pjrt::ErrorCode::kInternal;
  int fail_after = 0;
  // The call of `end_slot` ends the process, as `end` says, or a thread of the plugin's own does.
  int end_slot = -1;
  enum class End { kAbort, kBadAccess, kBusError, kException } end = End::kAbort;
  bool end_on_thread = false;
  // Failures that come with an event: of the run on one device, of one transfer from or to the
  // host.
  int fail_run_on_device = -1;
  int fail_to_host_event = -1;
  int fail_from_host_event = -1;

  /// Refuses every struct that is not exactly as large as PJRT's own.
  bool exact_sizes = false;
  /// Refuses every create option and every compile option override.
  bool refuse_options = false;
  /// The client's devices are a row of chips that it lists from the far end.
  bool row_from_far_end = false;
  /// Work is done, and events complete, on a thread of their own, once somebody awaits or destroys
  /// them.
  bool threaded = false;

  // Counted by the plugin.
  std::atomic<int> live_objects =
      0;  // errors, events, clients, topologies, buffers, executables that nobody destroyed
  std::atomic<int> transfers_not_awaited = 0;
  std::atomic<int> calls = 0;

  void reset_failures() {
    fail_slot = fail_run_on_device = fail_to_host_event = fail_from_host_event = -1;
    fail_after = 0;
    refuse_options = threaded = false;
  }
};

}  // namespace axle::testing
