// Tensors on the devices of a PJRT client: one buffer per device of their mesh.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pjrt/client.h"
#include "pjrt/plugin/plugin_failure.h"
#include "runtime/runtime.h"

namespace axle {

/// One run of a program on all its devices. Its results share it, so that an error shows up at each
/// of them.
class PjrtLaunch {
 public:
  PjrtLaunch(std::shared_ptr<const PjrtClient> client, std::string program,
             std::vector<pjrt::Event*> events);
  ~PjrtLaunch();
  PjrtLaunch(const PjrtLaunch&) = delete;
  PjrtLaunch& operator=(const PjrtLaunch&) = delete;
  /// Until all devices are through. Throws DeviceError with the first one's failure, at every call.
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
  /// One buffer per device of the mesh, in its order. `launch` is the run that computes it; none
  /// for a transfer.
  PjrtArray(std::shared_ptr<const PjrtClient> client, Type type, PartitionSpec sharding, Mesh mesh,
            std::vector<PjrtBuffer> shards, std::shared_ptr<PjrtLaunch> launch = nullptr);

  HostTensor to_host() const override;
  void wait() const override;

  using Shards = std::shared_ptr<const std::vector<PjrtBuffer>>;
  /// The buffers, alive as long as the pointer is held. Throws DeviceError if the array was
  /// donated.
  Shards shards() const;
  /// From now on only `by`'s result holds the value.
  void mark_donated(const std::string& by);
  const PjrtClient& client() const { return *client_; }
  const Mesh& mesh() const { return mesh_; }
  /// canonical_sharding over its mesh.
  const PartitionSpec& layout() const { return layout_; }

 private:
  std::shared_ptr<const PjrtClient> client_;
  Mesh mesh_;
  PartitionSpec layout_;
  std::shared_ptr<PjrtLaunch> launch_;
  mutable std::mutex
      mutex_;  // guards the two below: a checkpoint may be read while the next step is started
  Shards shards_;
  std::string donated_to_;
};

/// The plugin's number of an element type.
pjrt::BufferType buffer_type(DType dtype);
/// Copies each device's part of `value` to it. Throws ConfigError where a dim does not divide,
/// DeviceError.
ArrayPtr make_pjrt_array(std::shared_ptr<const PjrtClient> client, const HostTensor& value,
                         const PartitionSpec& sharding, const Mesh& mesh);

}  // namespace axle
