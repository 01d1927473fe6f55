// The objects of the fake plugin, to which PJRT's opaque pointers point.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pjrt/abi/client.h"
#include "testing/fake_plugin/fake_control.h"

namespace axle::testing {

FakeControl& control();

/// Counts the objects that are alive.
struct Counted {
  Counted() { ++control().live_objects; }
  Counted(const Counted&) = delete;
  ~Counted() { --control().live_objects; }
};

}  // namespace axle::testing

namespace axle::pjrt {

struct Error : testing::Counted {
  ErrorCode code;
  std::string message;
  Error(ErrorCode c, std::string text) : code(c), message(std::move(text)) {}
};

/// Runs `work` at once; in threaded mode on its own thread, once the event is awaited or destroyed.
struct Event : testing::Counted {
  // Returns the message of a failure, or none.
  using Work = std::function<std::optional<std::string>()>;
  Event(Work work, bool is_transfer);
  ~Event();
  Error* await();

 private:
  void release();
  bool is_transfer_, awaited_ = false;
  std::optional<std::string> failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false, done_ = false;
  std::thread thread_;
};

/// Stores its elements with the first dim fastest, so that a caller that forgets to ask for
/// row-major order gets wrong data.
struct Buffer : testing::Counted {
  BufferType type = BufferType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<std::byte> data;
  int device_id = 0;
  bool deleted = false;
  std::optional<std::string> failure;  // failure of the run that made it
};

size_t element_size(BufferType type);
/// Reorders row-major elements to first-dim-fastest order, or back.
std::vector<std::byte> reordered(const std::byte* data, const std::vector<int64_t>& dims,
                                 size_t element, bool to_row_major);

struct DeviceDescription {
  int id = 0;
  int process = 0;
  int64_t slice = 0;
  std::vector<int64_t> coords = {};
  std::vector<NamedValue> attributes = {};  // filled when requested
};
struct Device {
  DeviceDescription description;
};
struct Client : testing::Counted {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> pointers;
};

/// A row of chips for each slice. "fake:4" is one row of 4 chips with the same ids as a client's.
struct Topology : testing::Counted {
  std::vector<std::unique_ptr<DeviceDescription>> devices;
  std::vector<DeviceDescription*> pointers;
};

/// A fake program is text of the form "outputs=N donate=I,J": output i is a copy of argument i.
struct Executable : testing::Counted {
  std::string text;
  size_t num_outputs = 0;
  std::vector<size_t> donated;
  NamedValue flops = {};
};
struct LoadedExecutable : testing::Counted {
  std::string text;
  std::vector<int64_t> device_ids;  // device assignment; empty: unknown
};

}  // namespace axle::pjrt
