// Devices that the interpreter simulates, each in a thread, so that collectives can be evaluated
// without a multi-device runtime.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

/// The synchronisation point of the devices of one program. Devices that evaluate a collective wait
/// here until all members of its group have come.
class DeviceExchange {
 public:
  /// Returns the tensors of all members, in their order. `self` is the position of the caller among
  /// them, `collective` the text of what it computes. Throws InternalError if the others compute
  /// another collective, or can no longer come: they ended, or wait elsewhere.
  std::vector<HostTensor> meet(const std::string& group, const std::string& collective,
                               size_t num_members, size_t self, const HostTensor& own);
  /// A device began or ended.
  void add_running(int64_t count);
  /// Wakes all waiting devices with an error, after one of them failed.
  void fail();

 private:
  struct Meeting {
    std::string collective;  // of the member that came first
    std::vector<HostTensor> values;
    size_t num_arrived = 0, num_left = 0;
    int64_t num_waiting = 0;  // until it is full, or until all have left
    bool is_full = false;
  };
  // Lets the devices go on that wait at the meeting.
  void release(Meeting& meeting);
  bool nobody_can_come() const { return has_failed_ || num_waiting_ == num_running_; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Meeting> meetings_;
  int64_t num_running_ = 0, num_waiting_ = 0;
  bool has_failed_ = false;
};

/// The device that the current thread simulates.
class SimulatedDevice {
 public:
  /// Its position along each manual axis.
  using Position = std::map<std::string, int64_t>;

  /// Returns the device of this thread. Throws InternalError outside of run_devices.
  static const SimulatedDevice& current();

  const Position& position() const { return position_; }
  /// Returns its position among the devices that differ from it only along `axes`, row-major.
  int64_t rank(const std::vector<MeshAxis>& axes) const;
  /// Returns `own` of each of these devices, in row-major order of `axes`: an operand of `op`, the
  /// collective that they compute. Throws InternalError if they do not all compute it.
  std::vector<HostTensor> all_of(const OpNode& op, const std::vector<MeshAxis>& axes,
                                 const HostTensor& own) const;

 private:
  friend void run_devices(const std::vector<MeshAxis>& axes,
                          const std::function<void(int64_t device)>& run);
  SimulatedDevice(Position position, DeviceExchange& exchange)
      : position_(std::move(position)), exchange_(exchange) {}
  Position position_;
  DeviceExchange& exchange_;
};

/// Calls run(device) for each device of the grid of `axes`, all at the same time, and waits for
/// them. Within a device, the grid adds axes to those that it has. Throws what the first device
/// that failed threw.
void run_devices(const std::vector<MeshAxis>& axes, const std::function<void(int64_t device)>& run);

}  // namespace axle
