#include "pjrt/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ir/devices/sharding.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/arguments.h"

namespace axle {
namespace {

pjrt::BufferType buffer_type(DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return pjrt::BufferType::kPred;
    case DType::kI4:
      return pjrt::BufferType::kS4;
    case DType::kI8:
      return pjrt::BufferType::kS8;
    case DType::kI16:
      return pjrt::BufferType::kS16;
    case DType::kI32:
      return pjrt::BufferType::kS32;
    case DType::kI64:
      return pjrt::BufferType::kS64;
    case DType::kU4:
      return pjrt::BufferType::kU4;
    case DType::kU8:
      return pjrt::BufferType::kU8;
    case DType::kU16:
      return pjrt::BufferType::kU16;
    case DType::kU32:
      return pjrt::BufferType::kU32;
    case DType::kU64:
      return pjrt::BufferType::kU64;
    case DType::kF8E4M3FN:
      return pjrt::BufferType::kF8E4M3FN;
    case DType::kF8E5M2:
      return pjrt::BufferType::kF8E5M2;
    case DType::kF16:
      return pjrt::BufferType::kF16;
    case DType::kBF16:
      return pjrt::BufferType::kBF16;
    case DType::kF32:
      return pjrt::BufferType::kF32;
    case DType::kF64:
      return pjrt::BufferType::kF64;
    case DType::kC64:
      return pjrt::BufferType::kC64;
    case DType::kC128:
      return pjrt::BufferType::kC128;
  }
  return pjrt::BufferType::kInvalid;
}

}  // namespace

PjrtBuffer send_buffer(const PjrtClient& client, pjrt::Device* device, const std::byte* data,
                       const Type& type, const std::string& where) {
  const auto& plugin = client.plugin();
  pjrt::ClientBufferFromHostBuffer args{.client = client.get(),
                                        .data = data,
                                        .type = buffer_type(type.dtype),
                                        .dims = type.dims.data(),
                                        .num_dims = type.dims.size(),
                                        .semantics = pjrt::HostBuffer::kImmutableOnlyDuringCall,
                                        .device = device};
  plugin.call(args, where);
  PjrtBuffer buffer(plugin, args.buffer);
  if (const auto failure = plugin.await(args.done_with_host_buffer)) throw_failure(where, *failure);
  if (!buffer.get()) throw DeviceError(fmt::format("{}: expected a buffer, got none", where));
  return buffer;
}

namespace {

/// Pending transfers to host memory. The memory must outlive the transfers, so the destructor waits
/// for those that an exception has left pending.
class HostTransfers {
 public:
  HostTransfers(const PjrtClient& client, std::string where)
      : plugin_(client.plugin()), where_(std::move(where)) {}
  ~HostTransfers() {
    for (auto* event : events_) plugin_.await(event);
  }

  void start(pjrt::Buffer* buffer, HostTensor& to) {
    // Without a layout the bytes would come in the device's order of dims.
    std::vector<int64_t> minor_to_major(to.shape().size());
    std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
    auto layout =
        plugin_.padded(pjrt::MemoryLayout{.tiled = {.head = {pjrt::wire_size<pjrt::TiledLayout>()},
                                                    .minor_to_major = minor_to_major.data(),
                                                    .num_dims = minor_to_major.size()}});
    pjrt::BufferToHostBuffer args{.source = buffer,
                                  .host_layout = &layout.value,
                                  .destination = to.bytes().data(),
                                  .destination_size = to.bytes().size()};
    events_.reserve(events_.size() + 1);  // after the call nothing may throw
    plugin_.call(args, where_);
    events_.push_back(args.event);
  }

  void finish() {
    std::optional<PluginFailure> first;
    for (auto* event : std::exchange(events_, {})) {
      auto failure = plugin_.await(event);
      if (!first) first = std::move(failure);
    }
    if (first) throw_failure(where_, *first);
  }

 private:
  const Plugin& plugin_;
  std::string where_;
  std::vector<pjrt::Event*> events_;
};

// Plugins leave the upper half of the byte of a 4-bit integer empty, whatever its sign.
void extend_sign(HostTensor& x) {
  if (x.dtype() != DType::kI4) return;
  for (I4& v : x.values<I4>()) v = I4(v.value);
}

}  // namespace

PjrtLaunch::PjrtLaunch(std::shared_ptr<const PjrtClient> client, std::string program,
                       std::vector<pjrt::Event*> events)
    : client_(std::move(client)), program_(std::move(program)), events_(std::move(events)) {}

PjrtLaunch::~PjrtLaunch() {
  for (auto* event : events_)
    PluginObject<pjrt::Event, pjrt::EventDestroy>(client_->plugin(), event);
}

void PjrtLaunch::wait() {
  const std::lock_guard lock(mutex_);
  for (auto* event : std::exchange(events_, {})) {
    auto failure = client_->plugin().await(event);
    if (!failure_) failure_ = std::move(failure);
  }
  if (failure_) throw_failure(fmt::format("program '{}'", program_), *failure_);
}

PjrtArray::PjrtArray(std::shared_ptr<const PjrtClient> client, Type type, PartitionSpec sharding,
                     Mesh mesh, std::vector<PjrtBuffer> shards, std::shared_ptr<PjrtLaunch> launch)
    : Array(std::move(type), std::move(sharding)),
      client_(std::move(client)),
      mesh_(std::move(mesh)),
      layout_(canonical_sharding(this->sharding(), this->type().rank(), mesh_)),
      launch_(std::move(launch)),
      shards_(std::make_shared<const std::vector<PjrtBuffer>>(std::move(shards))) {}

HostTensor PjrtArray::to_host() const {
  const auto buffers = shards();
  if (launch_) launch_->wait();
  const auto slices = shard_slices(type().dims, layout_, mesh_);
  std::vector<Slice> distinct;
  std::vector<HostTensor> parts;
  parts.reserve(slices.size());  // transfers write into the parts, so they must not move
  // Declared after the parts, so that on failure the transfers end before the parts are destroyed.
  HostTransfers transfers(*client_, fmt::format("array {} to host", to_text(type())));
  for (size_t i = 0; i < slices.size(); ++i) {
    if (std::ranges::find(distinct, slices[i]) != distinct.end()) continue;
    distinct.push_back(slices[i]);
    parts.emplace_back(Type{type().dtype, slices[i].size});
    transfers.start((*buffers)[i].get(), parts.back());
  }
  transfers.finish();
  for (HostTensor& part : parts) extend_sign(part);
  if (parts.size() == 1) return std::move(parts[0]);
  HostTensor whole(type());
  for (size_t i = 0; i < parts.size(); ++i) insert(whole, distinct[i], parts[i]);
  return whole;
}

void PjrtArray::wait() const {
  const auto buffers = shards();
  if (launch_) launch_->wait();
  const auto& plugin = client_->plugin();
  const std::string where = fmt::format("array {}", to_text(type()));
  for (const auto& buffer : *buffers) {
    pjrt::BufferReadyEvent args{.buffer = buffer.get()};
    plugin.call(args, where);
    if (const auto failure = plugin.await(args.event)) throw_failure(where, *failure);
  }
}

PjrtArray::Shards PjrtArray::shards() const {
  const std::lock_guard lock(mutex_);
  if (!shards_) throw_donated(type(), donated_to_);
  return shards_;
}

void PjrtArray::mark_donated(const std::string& by) {
  const std::lock_guard lock(mutex_);
  shards_.reset();
  donated_to_ = by;
}

}  // namespace axle
