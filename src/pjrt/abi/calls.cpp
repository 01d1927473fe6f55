#include "pjrt/abi/calls.h"

namespace axle::pjrt {

const std::vector<CallName>& required_calls() {
  static const std::vector<CallName> calls = {
      {ErrorDestroy::kSlot, "PJRT_Error_Destroy"},
      {ErrorMessage::kSlot, "PJRT_Error_Message"},
      {ErrorGetCode::kSlot, "PJRT_Error_GetCode"},
      {PluginInitialize::kSlot, "PJRT_Plugin_Initialize"},
      {EventDestroy::kSlot, "PJRT_Event_Destroy"},
      {EventAwait::kSlot, "PJRT_Event_Await"},
      {ClientCreate::kSlot, "PJRT_Client_Create"},
      {ClientDestroy::kSlot, "PJRT_Client_Destroy"},
      {ClientPlatformName::kSlot, "PJRT_Client_PlatformName"},
      {ClientPlatformVersion::kSlot, "PJRT_Client_PlatformVersion"},
      {ClientAddressableDevices::kSlot, "PJRT_Client_AddressableDevices"},
      {DeviceGetDescription::kSlot, "PJRT_Device_GetDescription"},
      {DeviceDescriptionId::kSlot, "PJRT_DeviceDescription_Id"},
      {DeviceDescriptionKind::kSlot, "PJRT_DeviceDescription_Kind"},
      {ClientBufferFromHostBuffer::kSlot, "PJRT_Client_BufferFromHostBuffer"},
      {BufferDestroy::kSlot, "PJRT_Buffer_Destroy"},
      {BufferIsDeleted::kSlot, "PJRT_Buffer_IsDeleted"},
      {BufferToHostBuffer::kSlot, "PJRT_Buffer_ToHostBuffer"},
      {BufferReadyEvent::kSlot, "PJRT_Buffer_ReadyEvent"},
      {ClientCompile::kSlot, "PJRT_Client_Compile"},
      {ExecutableDestroy::kSlot, "PJRT_Executable_Destroy"},
      {ExecutableNumOutputs::kSlot, "PJRT_Executable_NumOutputs"},
      {LoadedExecutableDestroy::kSlot, "PJRT_LoadedExecutable_Destroy"},
      {LoadedExecutableGetExecutable::kSlot, "PJRT_LoadedExecutable_GetExecutable"},
      {LoadedExecutableExecute::kSlot, "PJRT_LoadedExecutable_Execute"},
  };
  return calls;
}

const std::vector<CallName>& optional_calls() {
  static const std::vector<CallName> calls = {
      {PluginAttributes::kSlot, "PJRT_Plugin_Attributes"},
      {DeviceDescriptionProcessIndex::kSlot, "PJRT_DeviceDescription_ProcessIndex"},
      {DeviceDescriptionAttributes::kSlot, "PJRT_DeviceDescription_Attributes"},
      {DeviceMemoryStats::kSlot, "PJRT_Device_MemoryStats"},
      {ExecutableGetCostAnalysis::kSlot, "PJRT_Executable_GetCostAnalysis"},
      {ExecutableOptimizedProgram::kSlot, "PJRT_Executable_OptimizedProgram"},
      {ExecutableSerialize::kSlot, "PJRT_Executable_Serialize"},
      {ExecutableDeserializeAndLoad::kSlot, "PJRT_Executable_DeserializeAndLoad"},
      {ExecutableGetCompiledMemoryStats::kSlot, "PJRT_Executable_GetCompiledMemoryStats"},
      {TopologyCreate::kSlot, "PJRT_TopologyDescription_Create"},
      {TopologyDestroy::kSlot, "PJRT_TopologyDescription_Destroy"},
      {TopologyPlatformName::kSlot, "PJRT_TopologyDescription_PlatformName"},
      {TopologyPlatformVersion::kSlot, "PJRT_TopologyDescription_PlatformVersion"},
      {TopologyGetDeviceDescriptions::kSlot, "PJRT_TopologyDescription_GetDeviceDescriptions"},
      {Compile::kSlot, "PJRT_Compile"},
  };
  return calls;
}

}  // namespace axle::pjrt
