#include "pjrt/plugin/plugin_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/text.h"

namespace axle {
namespace {

const char* const kErrorNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Resources other than a device's main memory for which PJRT reports RESOURCE_EXHAUSTED: the fast
// memories of a core, and resources of the system.
constexpr std::string_view kOtherResources[] = {
    "vmem",      "smem",         "sflag",     "shared memory",   "register file", "scratchpad",
    "semaphore", "threads",      "processes", "file descriptor", "open files",    "larger than max",
    "quota",     "no space left"};

bool is_of_another_resource(const std::string& message) {
  const std::string text = lower_case(message.substr(0, message.find('\n')));
  return std::ranges::any_of(kOtherResources,
                             [&](auto name) { return text.find(name) != text.npos; });
}

}  // namespace

std::string name_of(pjrt::ErrorCode code) {
  const auto i = static_cast<size_t>(code);
  return i < std::size(kErrorNames) ? kErrorNames[i] : fmt::format("error {}", i);
}

void throw_failure(std::string_view where, const PluginFailure& failure, ExitCode exit_code) {
  if (failure.code == pjrt::ErrorCode::kResourceExhausted &&
      !is_of_another_resource(failure.message))
    exit_code = ExitCode::kDoesNotFit;
  throw DeviceError(fmt::format("{}: {}: {}", where, name_of(failure.code), failure.message),
                    exit_code);
}

}  // namespace axle
