// The objects of the fake plugin: what PJRT's opaque pointers point to here.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pjrt/abi_buffer.h"
#include "testing/fake_plugin/fake_control.h"

namespace axle::testing {

FakeControl& control();

/// Counts itself while it lives.
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

/// Runs `work` at once, or in threaded mode on its own thread once it is awaited or destroyed.
struct Event : testing::Counted {
  using Work = std::function<std::optional<std::string>()>;  // gives the failure's text
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

/// Keeps its elements with the first dim fastest, so that whoever forgets to ask for row-major
/// order notices.
struct Buffer : testing::Counted {
  BufferType type = BufferType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<std::byte> data;
  int device_id = 0;
  bool deleted = false;
  std::optional<std::string> failure;  // of the run that made it
};

size_t element_size(BufferType type);
/// Reorders row-major elements to first-dim-fastest ones, or back.
std::vector<std::byte> reordered(const std::byte* data, const std::vector<int64_t>& dims,
                                 size_t element, bool to_row_major);

struct DeviceDescription {
  int id = 0;
  int process = 0;
  int64_t slice = 0;
  std::vector<int64_t> coords = {};
  std::vector<NamedValue> attributes = {};  // made when they are asked for
};
struct Device {
  DeviceDescription description;
};
struct Client : testing::Counted {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> pointers;
};

/// A row of chips for each slice: "fake:4" is one of 4, whose ids are a client's.
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
  std::vector<int> device_ids;  // its assignment; empty: not known
};

}  // namespace axle::pjrt
