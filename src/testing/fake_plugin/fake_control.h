// How tests control the fake PJRT plugin: a struct inside the loaded plugin, found by
// dlsym("axle_fake_control").
#pragma once

#include <atomic>
#include <cstddef>

#include "pjrt/abi/plugin.h"

namespace axle::testing {

struct FakeControl {
  // What GetPjrtApi reports. Set it before the library loads the plugin.
  int major_version = pjrt::kMajor;
  int minor_version = pjrt::kMinor;
  size_t api_size = sizeof(pjrt::Api);
  int missing_slot = -1;  // this slot of the API is null
  bool no_api = false;    // GetPjrtApi returns null
  bool null_attributes = false;
  const char* platform = "fake";  // platform name that clients and topologies report
  const char* device_kind = "fake chip";

  // Failures: the call of `fail_slot` fails with `fail_code`, after `fail_after` successful calls.
  int fail_slot = -1;
  pjrt::ErrorCode fail_code = pjrt::ErrorCode::kInternal;
  int fail_after = 0;
  // The call of `end_slot` ends the process in the way of `end`, from a thread of the plugin if
  // end_on_thread.
  int end_slot = -1;
  enum class End { kAbort, kBadAccess, kBusError, kException } end = End::kAbort;
  bool end_on_thread = false;
  // Failures reported through an event: of the run on this device, or of the transfer after this
  // many others (to the host, from the host); -1: none.
  int fail_run_on_device = -1;
  int fail_to_host_event = -1;
  int fail_from_host_event = -1;

  /// Refuses every struct that does not have exactly PJRT's size.
  bool exact_sizes = false;
  /// Refuses every option of client creation and every override of a compile option.
  bool refuse_options = false;
  /// The client's devices are a row of chips, listed from the far end.
  bool row_from_far_end = false;
  /// Work runs, and events complete, on a separate thread, once the event is awaited or destroyed.
  bool threaded = false;

  // Counted by the plugin.
  // Errors, events, clients, topologies, buffers and executables that were not destroyed.
  std::atomic<int> live_objects = 0;
  std::atomic<int> transfers_not_awaited = 0;
  std::atomic<int> calls = 0;

  void reset_failures() {
    fail_slot = fail_run_on_device = fail_to_host_event = fail_from_host_event = -1;
    fail_after = 0;
    refuse_options = threaded = false;
  }
};

}  // namespace axle::testing
