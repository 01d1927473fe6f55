// The calls of PJRT that Axle makes, as a list: for checking a plugin's table before use, and for
// tests over all of them.
#pragma once

#include <tuple>
#include <vector>

#include "pjrt/abi.h"
#include "pjrt/abi_buffer.h"
#include "pjrt/abi_client.h"
#include "pjrt/abi_executable.h"
#include "pjrt/abi_topology.h"

namespace axle::pjrt {

/// Nothing works without these.
using RequiredCalls =
    std::tuple<ErrorDestroy, ErrorMessage, ErrorGetCode, PluginInitialize, EventDestroy, EventAwait,
               ClientCreate, ClientDestroy, ClientPlatformName, ClientPlatformVersion,
               ClientAddressableDevices, DeviceGetDescription, DeviceDescriptionId,
               DeviceDescriptionKind, ClientBufferFromHostBuffer, BufferDestroy, BufferIsDeleted,
               BufferToHostBuffer, BufferReadyEvent, ClientCompile, ExecutableDestroy,
               ExecutableNumOutputs, LoadedExecutableDestroy, LoadedExecutableGetExecutable,
               LoadedExecutableExecute>;

/// Some plugins lack these; what needs them then says so.
using OptionalCalls =
    std::tuple<PluginAttributes, DeviceDescriptionProcessIndex, DeviceDescriptionAttributes,
               DeviceMemoryStats, ExecutableGetCostAnalysis, ExecutableOptimizedProgram,
               ExecutableSerialize, ExecutableDeserializeAndLoad, ExecutableGetCompiledMemoryStats,
               TopologyCreate, TopologyDestroy, TopologyPlatformName, TopologyPlatformVersion,
               TopologyGetDeviceDescriptions, Compile>;

struct CallName {
  int slot;
  const char* name;  // as PJRT names it
};
const std::vector<CallName>& required_calls();
const std::vector<CallName>& optional_calls();

}  // namespace axle::pjrt
