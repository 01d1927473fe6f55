// A client of a PJRT plugin and its devices. The arrays and executables of one runtime share the
// client and keep it alive.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "pjrt/abi/client.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"

namespace axle {

/// Reads id and kind, and the process, slice, coordinates and memory where the plugin reports them.
/// Throws DeviceError, whose message begins with `where`.
DeviceInfo read_device(const Plugin& plugin, pjrt::DeviceDescription* description,
                       std::string_view where);

class PjrtClient {
 public:
  /// `num_devices` matters only for a platform of virtual devices (cpu). Throws DeviceError.
  PjrtClient(const Plugin& plugin, int64_t num_devices);

  const Plugin& plugin() const { return plugin_; }
  pjrt::Client* get() const { return client_.get(); }
  const std::vector<pjrt::Device*>& devices() const { return devices_; }
  /// The topology of the client. It lists the devices of devices() in the same order.
  const Topology& topology() const { return topology_; }

 private:
  void read_devices();

  const Plugin& plugin_;
  PluginObject<pjrt::Client, pjrt::ClientDestroy> client_;
  std::vector<pjrt::Device*> devices_;
  Topology topology_;
};

using PjrtBuffer = PluginObject<pjrt::Buffer, pjrt::BufferDestroy>;

}  // namespace axle
