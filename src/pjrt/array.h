// Tensors on the devices of a PJRT client, one buffer per device of their mesh, and copies of host
// memory there.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/type.h"
#include "pjrt/client.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"

namespace axle {

/// Copies an array of `type` in row-major order to a device of the client and waits for the copy.
/// Throws DeviceError, whose message begins with `where`, if the transfer fails.
PjrtBuffer send_buffer(const PjrtClient& client, pjrt::Device* device, const std::byte* data,
                       const Type& type, const std::string& where);

/// One run of a program on all its devices. All result arrays of the run share it, so that each
/// of them reports the run's error.
class PjrtLaunch {
 public:
  PjrtLaunch(std::shared_ptr<const PjrtClient> client, std::string program,
             std::vector<pjrt::Event*> events);
  ~PjrtLaunch();
  PjrtLaunch(const PjrtLaunch&) = delete;
  PjrtLaunch& operator=(const PjrtLaunch&) = delete;
  /// Blocks until all devices are done. Throws DeviceError with the first failure; later calls
  /// throw the same error again.
  void wait();

 private:
  std::shared_ptr<const PjrtClient> client_;
  std::string program_;
  std::mutex mutex_;
  std::vector<pjrt::Event*> events_;  // empty once awaited
  std::optional<PluginFailure> failure_;
};

class PjrtArray final : public Array {
 public:
  /// `shards` holds one buffer per device, in the row-major order of the mesh. `launch` is the run
  /// that computes the array; null if the array was transferred from the host.
  PjrtArray(std::shared_ptr<const PjrtClient> client, Type type, PartitionSpec sharding, Mesh mesh,
            std::vector<PjrtBuffer> shards, std::shared_ptr<PjrtLaunch> launch = nullptr);

  HostTensor to_host() const override;
  void wait() const override;

  using Shards = std::shared_ptr<const std::vector<PjrtBuffer>>;
  /// Returns the buffers, which live at least as long as the returned pointer. Throws DeviceError
  /// if the array was donated.
  Shards shards() const;
  /// Gives up the buffers: program `by` has consumed them. Using the array then throws.
  void mark_donated(const std::string& by);
  const PjrtClient& client() const { return *client_; }
  const Mesh& mesh() const { return mesh_; }
  /// The canonical_sharding of the array over its mesh.
  const PartitionSpec& layout() const { return layout_; }

 private:
  std::shared_ptr<const PjrtClient> client_;
  Mesh mesh_;
  PartitionSpec layout_;
  std::shared_ptr<PjrtLaunch> launch_;
  // Guards the two fields below: one thread may copy the array for a checkpoint while another
  // starts the next step.
  mutable std::mutex mutex_;
  Shards shards_;
  std::string donated_to_;
};

}  // namespace axle
