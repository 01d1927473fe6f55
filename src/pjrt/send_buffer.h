// Copies of host memory on devices.
#pragma once

#include <cstddef>
#include <string>

#include "ir/type.h"
#include "pjrt/client.h"

namespace axle {

/// Copies an array of `type` in row-major order to a device of the client and waits for the copy.
/// Throws DeviceError, whose message begins with `where`, if the transfer fails.
PjrtBuffer send_buffer(const PjrtClient& client, pjrt::Device* device, const std::byte* data,
                       const Type& type, const std::string& where);

}  // namespace axle
