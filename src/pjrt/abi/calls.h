// Lists of the PJRT calls that Axle makes. They serve to check a plugin's table before use, and to
// test every call.
#pragma once

#include <tuple>
#include <vector>

#include "pjrt/abi/client.h"
#include "pjrt/abi/executable.h"
#include "pjrt/abi/plugin.h"

namespace axle::pjrt {

/// The calls that every plugin must have.
using RequiredCalls =
    std::tuple<ErrorDestroy, ErrorMessage, ErrorGetCode, PluginInitialize, EventDestroy, EventAwait,
               ClientCreate, ClientDestroy, ClientPlatformName, ClientPlatformVersion,
               ClientAddressableDevices, DeviceGetDescription, DeviceDescriptionId,
               DeviceDescriptionKind, ClientBufferFromHostBuffer, BufferDestroy, BufferIsDeleted,
               BufferToHostBuffer, BufferReadyEvent, ClientCompile, ExecutableDestroy,
               ExecutableNumOutputs, LoadedExecutableDestroy, LoadedExecutableGetExecutable,
               LoadedExecutableExecute>;

/// The calls that a plugin may lack. A feature that needs one reports the missing call.
using OptionalCalls =
    std::tuple<PluginAttributes, DeviceDescriptionProcessIndex, DeviceDescriptionAttributes,
               DeviceMemoryStats, ExecutableGetCostAnalysis, ExecutableOptimizedProgram,
               ExecutableSerialize, ExecutableDeserializeAndLoad, ExecutableGetCompiledMemoryStats,
               TopologyCreate, TopologyDestroy, TopologyPlatformName, TopologyPlatformVersion,
               TopologyGetDeviceDescriptions, Compile>;

struct CallName {
  int slot;
  const char* name;  // "PJRT_Error_Destroy"
};
const std::vector<CallName>& required_calls();
const std::vector<CallName>& optional_calls();

}  // namespace axle::pjrt
