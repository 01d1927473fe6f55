// The entry of every call into the fake plugin: checks sizes, returns the failures that a test
// ordered, then runs the call.
#pragma once

#include <string>

#include "pjrt/abi/executable.h"
#include "testing/fake_plugin/fake_objects.h"

namespace axle::testing {

/// Checks the size that the caller claims for a struct; null if it is acceptable.
inline pjrt::Error* check_size(const char* what, size_t claimed, size_t expected) {
  const bool fits = control().exact_sizes ? claimed == expected : claimed >= expected;
  if (fits) return nullptr;
  return new pjrt::Error(pjrt::ErrorCode::kInvalidArgument,
                         std::string(what) + ": expected struct_size " + std::to_string(expected) +
                             ", got " + std::to_string(claimed));
}

/// Returns the failure that a test ordered for this call; null if there is none.
inline pjrt::Error* ordered_failure(int slot) {
  auto& c = control();
  ++c.calls;
  if (slot != c.fail_slot || c.fail_after-- > 0) return nullptr;
  c.fail_after = 0;
  return new pjrt::Error(c.fail_code, "ordered failure of call " + std::to_string(slot));
}

/// Ends the process if a test ordered that for this call.
void ordered_end(int slot);

template <class Args, pjrt::Error* (*kCall)(Args&)>
pjrt::Error* entry(void* raw) {
  auto& args = *static_cast<Args*>(raw);
  const std::string name = "call " + std::to_string(Args::kSlot);
  if (auto* error = check_size(name.c_str(), args.head.struct_size, pjrt::wire_size<Args>()))
    return error;
  if (auto* error = ordered_failure(Args::kSlot)) return error;
  ordered_end(Args::kSlot);
  return kCall(args);
}

/// Puts the call into its slot of the API.
template <class Args, pjrt::Error* (*kCall)(Args&)>
void enter(pjrt::Api& api) {
  api.slots[Args::kSlot] = reinterpret_cast<void*>(&entry<Args, kCall>);
}

// Each fills its part of the API.
void enter_buffers(pjrt::Api& api);
void enter_executables(pjrt::Api& api);
void enter_topologies(pjrt::Api& api);

/// Compiles a request: sets `text` to the program's text and returns null, or returns an error.
pjrt::Error* compile_text(const pjrt::Program& program, pjrt::Text options, std::string& text);
/// Reads "outputs=2 donate=0,1" into the executable.
void parse(pjrt::Executable& executable);

}  // namespace axle::testing
