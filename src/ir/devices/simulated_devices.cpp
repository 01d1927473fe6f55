#include "ir/devices/simulated_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "ir/devices/mesh.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

thread_local const SimulatedDevice* g_device = nullptr;

std::vector<int64_t> sizes_of(const std::vector<MeshAxis>& axes) {
  std::vector<int64_t> out;
  for (const MeshAxis& axis : axes) out.push_back(axis.size);
  return out;
}

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

// Thrown in devices that wait for one that failed; the error of that one is reported.
struct OtherDeviceFailed : InternalError {
  using InternalError::InternalError;
};

}  // namespace

std::vector<HostTensor> DeviceExchange::meet(const std::string& group,
                                             const std::string& collective, size_t num_members,
                                             size_t self, const HostTensor& own) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[group];
  const auto wait_until = [&](auto condition) {
    ++num_waiting_, ++meeting.num_waiting;
    changed_.notify_all();
    changed_.wait(lock, [&] { return condition() || nobody_can_come(); });
    if (condition()) return;  // release() has counted this device out
    has_failed_ = true;
    changed_.notify_all();
    throw OtherDeviceFailed(
        fmt::format("expected {} simulated devices at the collective over {}, got {}; all devices "
                    "must compute the same collectives in the same order",
                    num_members, group, meeting.num_arrived));
  };
  // The members of the last meeting may not have left yet.
  if (meeting.is_full) wait_until([&] { return !meeting.is_full; });
  if (meeting.num_arrived == 0) meeting.collective = collective;
  if (meeting.collective != collective) {
    throw InternalError(
        fmt::format("expected one collective over {}, got '{}' on one simulated device and '{}' on "
                    "another; all devices must compute the same collectives in the same order",
                    group, meeting.collective, collective));
  }
  meeting.values.resize(num_members);
  meeting.values[self] = own;
  if (++meeting.num_arrived == num_members) {
    meeting.is_full = true;
    release(meeting);
  } else {
    wait_until([&] { return meeting.is_full; });
  }
  std::vector<HostTensor> out = meeting.values;
  if (++meeting.num_left == num_members) {
    release(meeting);
    meeting = {};
  }
  return out;
}

void DeviceExchange::release(Meeting& meeting) {
  num_waiting_ -= std::exchange(meeting.num_waiting, 0);
  changed_.notify_all();
}

void DeviceExchange::add_running(int64_t count) {
  const std::lock_guard lock(mutex_);
  num_running_ += count;
  changed_.notify_all();
}

void DeviceExchange::fail() {
  const std::lock_guard lock(mutex_);
  has_failed_ = true;
  changed_.notify_all();
}

const SimulatedDevice& SimulatedDevice::current() {
  if (!g_device)
    throw InternalError("a collective was evaluated outside of shard_map; trace it inside");
  return *g_device;
}

int64_t SimulatedDevice::rank(const std::vector<MeshAxis>& axes) const {
  int64_t out = 0;
  for (const MeshAxis& axis : axes) out = out * axis.size + position_.at(axis.name);
  return out;
}

std::vector<HostTensor> SimulatedDevice::all_of(const OpNode& op, const std::vector<MeshAxis>& axes,
                                                const HostTensor& own) const {
  // The group's name: its axes, and where it lies along the others.
  std::string group;
  for (const MeshAxis& axis : axes) group += (group.empty() ? "" : ", ") + axis.name;
  for (const auto& [name, at] : position_) {
    if (std::ranges::find(axes, name, &MeshAxis::name) == axes.end())
      group += fmt::format(" at {}={}", name, at);
  }
  const std::string collective =
      fmt::format("{} {} {}", op.rules->name(), to_text(own.type()), op.attributes->text());
  return exchange_.meet(group, collective, static_cast<size_t>(product(sizes_of(axes))),
                        static_cast<size_t>(rank(axes)), own);
}

void run_devices(const std::vector<MeshAxis>& axes,
                 const std::function<void(int64_t device)>& run) {
  const std::vector<int64_t> sizes = sizes_of(axes);
  const int64_t count = product(sizes);
  const SimulatedDevice* const outer = g_device;
  std::optional<DeviceExchange> own;
  DeviceExchange& exchange = outer ? outer->exchange_ : own.emplace();
  // The device that starts others waits for them, and runs no more itself. The last of them hands
  // over to it: nobody may see a moment in which neither runs.
  exchange.add_running(count - (outer ? 1 : 0));
  std::atomic<int64_t> num_left = count;
  std::mutex mutex;
  std::exception_ptr first, consequence;
  const auto run_one = [&](int64_t device) {
    SimulatedDevice::Position position = outer ? outer->position_ : SimulatedDevice::Position();
    const std::vector<int64_t> at = unravel(device, sizes);
    for (size_t i = 0; i < axes.size(); ++i) position[axes[i].name] = at[i];
    const SimulatedDevice self(std::move(position), exchange);
    g_device = &self;
    run(device);
  };
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!first) first = std::current_exception();
    exchange.fail();
  };
  const auto leave = [&] {
    if (--num_left > 0 || !outer) exchange.add_running(-1);
  };
  std::vector<std::thread> threads;
  for (int64_t device = 0; device < count; ++device) {
    try {
      threads.emplace_back([&, device] {
        try {
          run_one(device);
        } catch (const OtherDeviceFailed&) {
          const std::lock_guard lock(mutex);
          if (!consequence) consequence = std::current_exception();
        } catch (...) {
          fail();
        }
        leave();
      });
    } catch (...) {  // the system has no thread, or no memory for one
      fail();
      leave();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  if (consequence) std::rethrow_exception(consequence);
}

}  // namespace axle
