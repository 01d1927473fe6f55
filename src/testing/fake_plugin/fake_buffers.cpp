// The fake plugin's buffers and transfers.
#include <cstring>

#include "testing/fake_plugin/fake_entry.h"

namespace axle::testing {
namespace {

using namespace pjrt;

/// Counts down to the transfer that must fail.
std::optional<std::string> transfer_failure(int& countdown, const char* what) {
  if (countdown < 0 || countdown-- > 0) return std::nullopt;
  return std::string(what) + " broke off in the middle";
}

Error* from_host(ClientBufferFromHostBuffer& args) {
  auto* buffer = new Buffer;
  buffer->type = args.type;
  buffer->device_id = args.device->description.id;
  buffer->dims.assign(args.dims, args.dims + args.num_dims);
  // "Only during the call": copies the bytes before returning, regardless of the event.
  buffer->data = reordered(static_cast<const std::byte*>(args.data), buffer->dims,
                           element_size(args.type), false);
  args.buffer = buffer;
  auto failure = transfer_failure(control().fail_from_host_event, "the transfer to the device");
  args.done_with_host_buffer = new Event([failure] { return failure; }, true);
  return nullptr;
}

Error* destroy(BufferDestroy& args) {
  delete args.buffer;
  return nullptr;
}

Error* is_deleted(BufferIsDeleted& args) {
  args.is_deleted = args.buffer->deleted;
  return nullptr;
}

Error* to_host(BufferToHostBuffer& args) {
  const auto& source = *args.source;
  if (source.deleted)
    return new Error(ErrorCode::kInvalidArgument, "the buffer was deleted or donated");
  bool row_major = false;
  if (const auto* layout = args.host_layout) {
    if (auto* error =
            check_size("MemoryLayout", layout->head.struct_size, wire_size<MemoryLayout>()))
      return error;
    row_major = true;
    for (size_t i = 0; i < layout->tiled.num_dims; ++i) {
      row_major &=
          layout->tiled.minor_to_major[i] == static_cast<int64_t>(layout->tiled.num_dims - 1 - i);
    }
  }
  if (args.destination_size < source.data.size())
    return new Error(ErrorCode::kInvalidArgument, "the destination is too small");
  auto failure = transfer_failure(control().fail_to_host_event, "the transfer to the host");
  args.event = new Event(
      [&source, row_major, failure,
       destination = args.destination]() -> std::optional<std::string> {
        if (source.failure) return source.failure;
        const auto bytes =
            row_major ? reordered(source.data.data(), source.dims, element_size(source.type), true)
                      : source.data;
        // A transfer that fails has written its first half.
        if (!bytes.empty())
          std::memcpy(destination, bytes.data(), failure ? bytes.size() / 2 : bytes.size());
        return failure;
      },
      true);
  return nullptr;
}

Error* ready_event(BufferReadyEvent& args) {
  args.event = new Event([failure = args.buffer->failure] { return failure; }, false);
  return nullptr;
}

}  // namespace

void enter_buffers(pjrt::Api& api) {
  enter<ClientBufferFromHostBuffer, from_host>(api);
  enter<BufferDestroy, destroy>(api);
  enter<BufferIsDeleted, is_deleted>(api);
  enter<BufferToHostBuffer, to_host>(api);
  enter<BufferReadyEvent, ready_event>(api);
}

}  // namespace axle::testing
