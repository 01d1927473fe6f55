#include "pjrt/send_buffer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "pjrt/plugin/plugin_failure.h"

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

}  // namespace axle
