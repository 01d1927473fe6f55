// Compares every struct, field and table slot of abi*.h with the published header of the same
// version (tools/fetch_pjrt_header.sh; CMake finds it in .axle/pjrt_header).
#include <gtest/gtest.h>

#include <set>

#include "pjrt/abi/calls.h"

#if __has_include("xla/pjrt/c/pjrt_c_api.h")
#include "xla/pjrt/c/pjrt_c_api.h"

namespace axle::pjrt {
namespace {

std::set<int> checked_slots;

#define AXLE_STRUCT(ours, theirs)                          \
  EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs;      \
  EXPECT_EQ(offsetof(theirs, struct_size), 0u) << #theirs; \
  EXPECT_EQ(offsetof(theirs, extension_start), offsetof(Head, extensions)) << #theirs

#define AXLE_SIZED(ours, theirs) \
  AXLE_STRUCT(ours, theirs);     \
  EXPECT_EQ(wire_size<ours>(), size_t{theirs##_STRUCT_SIZE}) << #theirs

#define AXLE_CALL(ours, theirs)                                                              \
  AXLE_SIZED(ours, theirs##_Args);                                                           \
  EXPECT_EQ(offsetof(Api, slots) + sizeof(void*) * ours::kSlot, offsetof(PJRT_Api, theirs)); \
  checked_slots.insert(ours::kSlot)

#define AXLE_FIELD(ours, field, theirs, their_field)                          \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, their_field)) << #theirs; \
  EXPECT_EQ(sizeof(ours::field), sizeof(theirs::their_field)) << #theirs "." #their_field

// Compares one field of ours with two adjacent fields of theirs.
#define AXLE_PAIR(ours, field, theirs, first, second)                                \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, first)) << #theirs;              \
  EXPECT_EQ(offsetof(ours, field) + sizeof(theirs::first), offsetof(theirs, second)) \
      << #theirs "." #second;                                                        \
  EXPECT_GE(sizeof(ours::field), sizeof(theirs::first) + sizeof(theirs::second))     \
      << #theirs "." #second

TEST(PjrtAbi, TableOfCalls) {
  EXPECT_EQ(sizeof(Api), sizeof(PJRT_Api));
  EXPECT_EQ(kMajor, PJRT_API_MAJOR);
  EXPECT_EQ(kMinor, PJRT_API_MINOR);
  EXPECT_EQ(offsetof(Api, extensions), offsetof(PJRT_Api, extension_start));
  EXPECT_EQ(offsetof(Api, version), offsetof(PJRT_Api, pjrt_api_version));
  EXPECT_EQ(offsetof(Version, major), offsetof(PJRT_Api_Version, major_version));
  EXPECT_EQ(offsetof(Version, minor), offsetof(PJRT_Api_Version, minor_version));
  EXPECT_EQ(sizeof(Extension), sizeof(PJRT_Extension_Base));
  EXPECT_EQ(offsetof(Extension, type), offsetof(PJRT_Extension_Base, type));
  EXPECT_EQ(offsetof(Extension, next), offsetof(PJRT_Extension_Base, next));
}

TEST(PjrtAbi, Enums) {
  EXPECT_EQ(int(ErrorCode::kInvalidArgument), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(int(ErrorCode::kResourceExhausted), PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_EQ(int(ErrorCode::kUnimplemented), PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(int(ErrorCode::kUnauthenticated), PJRT_Error_Code_UNAUTHENTICATED);
  EXPECT_EQ(int(NamedValue::Kind::kString), PJRT_NamedValue_kString);
  EXPECT_EQ(int(NamedValue::Kind::kInt64), PJRT_NamedValue_kInt64);
  EXPECT_EQ(int(NamedValue::Kind::kInt64List), PJRT_NamedValue_kInt64List);
  EXPECT_EQ(int(NamedValue::Kind::kFloat), PJRT_NamedValue_kFloat);
  EXPECT_EQ(int(NamedValue::Kind::kBool), PJRT_NamedValue_kBool);
  EXPECT_EQ(int(BufferType::kPred), PJRT_Buffer_Type_PRED);
  EXPECT_EQ(int(BufferType::kS32), PJRT_Buffer_Type_S32);
  EXPECT_EQ(int(BufferType::kS64), PJRT_Buffer_Type_S64);
  EXPECT_EQ(int(BufferType::kU32), PJRT_Buffer_Type_U32);
  EXPECT_EQ(int(BufferType::kU64), PJRT_Buffer_Type_U64);
  EXPECT_EQ(int(BufferType::kF32), PJRT_Buffer_Type_F32);
  EXPECT_EQ(int(BufferType::kF64), PJRT_Buffer_Type_F64);
  EXPECT_EQ(int(BufferType::kBF16), PJRT_Buffer_Type_BF16);
  EXPECT_EQ(int(BufferType::kS4), PJRT_Buffer_Type_S4);
  EXPECT_EQ(int(BufferType::kS8), PJRT_Buffer_Type_S8);
  EXPECT_EQ(int(BufferType::kS16), PJRT_Buffer_Type_S16);
  EXPECT_EQ(int(BufferType::kU4), PJRT_Buffer_Type_U4);
  EXPECT_EQ(int(BufferType::kU8), PJRT_Buffer_Type_U8);
  EXPECT_EQ(int(BufferType::kU16), PJRT_Buffer_Type_U16);
  EXPECT_EQ(int(BufferType::kF16), PJRT_Buffer_Type_F16);
  EXPECT_EQ(int(BufferType::kF8E4M3FN), PJRT_Buffer_Type_F8E4M3FN);
  EXPECT_EQ(int(BufferType::kF8E5M2), PJRT_Buffer_Type_F8E5M2);
  EXPECT_EQ(int(BufferType::kC64), PJRT_Buffer_Type_C64);
  EXPECT_EQ(int(BufferType::kC128), PJRT_Buffer_Type_C128);
  EXPECT_EQ(int(HostBuffer::kImmutableOnlyDuringCall),
            PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  EXPECT_EQ(int(HostBuffer::kMutableZeroCopy), PJRT_HostBufferSemantics_kMutableZeroCopy);
  EXPECT_EQ(int(MemoryLayout::Kind::kTiled), PJRT_Buffer_MemoryLayout_Type_Tiled);
  EXPECT_EQ(int(MemoryLayout::Kind::kStrides), PJRT_Buffer_MemoryLayout_Type_Strides);
}

void compare_shared_structs() {
  AXLE_SIZED(NamedValue, PJRT_NamedValue);
  AXLE_PAIR(NamedValue, name, PJRT_NamedValue, name, name_size);
  AXLE_FIELD(NamedValue, kind, PJRT_NamedValue, type);
  AXLE_FIELD(NamedValue, string_value, PJRT_NamedValue, string_value);
  AXLE_FIELD(NamedValue, int64_value, PJRT_NamedValue, int64_value);
  AXLE_FIELD(NamedValue, int64_list_value, PJRT_NamedValue, int64_array_value);
  AXLE_FIELD(NamedValue, float_value, PJRT_NamedValue, float_value);
  AXLE_FIELD(NamedValue, bool_value, PJRT_NamedValue, bool_value);
  AXLE_FIELD(NamedValue, value_size, PJRT_NamedValue, value_size);
  AXLE_SIZED(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled);
  AXLE_FIELD(TiledLayout, minor_to_major, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major);
  AXLE_FIELD(TiledLayout, num_dims, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major_size);
  AXLE_FIELD(TiledLayout, tile_dims, PJRT_Buffer_MemoryLayout_Tiled, tile_dims);
  AXLE_FIELD(TiledLayout, tile_dim_sizes, PJRT_Buffer_MemoryLayout_Tiled, tile_dim_sizes);
  AXLE_FIELD(TiledLayout, num_tiles, PJRT_Buffer_MemoryLayout_Tiled, num_tiles);
  AXLE_SIZED(MemoryLayout, PJRT_Buffer_MemoryLayout);
  AXLE_FIELD(MemoryLayout, tiled, PJRT_Buffer_MemoryLayout, tiled);
  AXLE_FIELD(MemoryLayout, kind, PJRT_Buffer_MemoryLayout, type);
  AXLE_SIZED(Program, PJRT_Program);
  AXLE_FIELD(Program, code, PJRT_Program, code);
  AXLE_FIELD(Program, code_size, PJRT_Program, code_size);
  AXLE_PAIR(Program, format, PJRT_Program, format, format_size);
  AXLE_SIZED(ExecuteOptions, PJRT_ExecuteOptions);
  AXLE_FIELD(ExecuteOptions, send_callbacks, PJRT_ExecuteOptions, send_callbacks);
  AXLE_FIELD(ExecuteOptions, recv_callbacks, PJRT_ExecuteOptions, recv_callbacks);
  AXLE_FIELD(ExecuteOptions, num_send_ops, PJRT_ExecuteOptions, num_send_ops);
  AXLE_FIELD(ExecuteOptions, num_recv_ops, PJRT_ExecuteOptions, num_recv_ops);
  AXLE_FIELD(ExecuteOptions, launch_id, PJRT_ExecuteOptions, launch_id);
  AXLE_FIELD(ExecuteOptions, non_donatable_inputs, PJRT_ExecuteOptions,
             non_donatable_input_indices);
  AXLE_FIELD(ExecuteOptions, num_non_donatable_inputs, PJRT_ExecuteOptions,
             num_non_donatable_input_indices);
  AXLE_FIELD(ExecuteOptions, context, PJRT_ExecuteOptions, context);
  AXLE_FIELD(ExecuteOptions, call_location, PJRT_ExecuteOptions, call_location);
  AXLE_FIELD(ExecuteOptions, num_tasks, PJRT_ExecuteOptions, num_tasks);
  AXLE_FIELD(ExecuteOptions, task_ids, PJRT_ExecuteOptions, task_ids);
  AXLE_FIELD(ExecuteOptions, incarnation_ids, PJRT_ExecuteOptions, incarnation_ids);
  AXLE_FIELD(ExecuteOptions, multi_slice_config, PJRT_ExecuteOptions, multi_slice_config);
  AXLE_FIELD(ExecuteOptions, row_major_callbacks, PJRT_ExecuteOptions,
             use_major_to_minor_data_layout_for_callbacks);
  AXLE_FIELD(ExecuteOptions, hlo_output_callbacks, PJRT_ExecuteOptions, hlo_output_callbacks);
  AXLE_FIELD(ExecuteOptions, num_hlo_output_callbacks, PJRT_ExecuteOptions,
             num_hlo_output_callbacks);
}
TEST(PjrtAbi, SharedStructs) { compare_shared_structs(); }

void compare_errors_events_and_plugin() {
  AXLE_CALL(ErrorDestroy, PJRT_Error_Destroy);
  AXLE_FIELD(ErrorDestroy, error, PJRT_Error_Destroy_Args, error);
  AXLE_CALL(ErrorMessage, PJRT_Error_Message);
  AXLE_FIELD(ErrorMessage, error, PJRT_Error_Message_Args, error);
  AXLE_PAIR(ErrorMessage, message, PJRT_Error_Message_Args, message, message_size);
  AXLE_CALL(ErrorGetCode, PJRT_Error_GetCode);
  AXLE_FIELD(ErrorGetCode, error, PJRT_Error_GetCode_Args, error);
  AXLE_FIELD(ErrorGetCode, code, PJRT_Error_GetCode_Args, code);
  AXLE_CALL(PluginInitialize, PJRT_Plugin_Initialize);
  AXLE_CALL(PluginAttributes, PJRT_Plugin_Attributes);
  AXLE_FIELD(PluginAttributes, attributes, PJRT_Plugin_Attributes_Args, attributes);
  AXLE_FIELD(PluginAttributes, num_attributes, PJRT_Plugin_Attributes_Args, num_attributes);
  AXLE_CALL(EventDestroy, PJRT_Event_Destroy);
  AXLE_FIELD(EventDestroy, event, PJRT_Event_Destroy_Args, event);
  AXLE_CALL(EventAwait, PJRT_Event_Await);
  AXLE_FIELD(EventAwait, event, PJRT_Event_Await_Args, event);
}
TEST(PjrtAbi, ErrorsEventsAndPlugin) { compare_errors_events_and_plugin(); }

void compare_client() {
  AXLE_CALL(ClientCreate, PJRT_Client_Create);
  AXLE_FIELD(ClientCreate, options, PJRT_Client_Create_Args, create_options);
  AXLE_FIELD(ClientCreate, num_options, PJRT_Client_Create_Args, num_options);
  AXLE_FIELD(ClientCreate, kv_get, PJRT_Client_Create_Args, kv_get_callback);
  AXLE_FIELD(ClientCreate, kv_get_user, PJRT_Client_Create_Args, kv_get_user_arg);
  AXLE_FIELD(ClientCreate, kv_put, PJRT_Client_Create_Args, kv_put_callback);
  AXLE_FIELD(ClientCreate, kv_put_user, PJRT_Client_Create_Args, kv_put_user_arg);
  AXLE_FIELD(ClientCreate, client, PJRT_Client_Create_Args, client);
  AXLE_FIELD(ClientCreate, kv_try_get, PJRT_Client_Create_Args, kv_try_get_callback);
  AXLE_FIELD(ClientCreate, kv_try_get_user, PJRT_Client_Create_Args, kv_try_get_user_arg);
  AXLE_CALL(ClientDestroy, PJRT_Client_Destroy);
  AXLE_FIELD(ClientDestroy, client, PJRT_Client_Destroy_Args, client);
  AXLE_CALL(ClientPlatformName, PJRT_Client_PlatformName);
  AXLE_FIELD(ClientPlatformName, client, PJRT_Client_PlatformName_Args, client);
  AXLE_PAIR(ClientPlatformName, name, PJRT_Client_PlatformName_Args, platform_name,
            platform_name_size);
  AXLE_CALL(ClientPlatformVersion, PJRT_Client_PlatformVersion);
  AXLE_FIELD(ClientPlatformVersion, client, PJRT_Client_PlatformVersion_Args, client);
  AXLE_PAIR(ClientPlatformVersion, version, PJRT_Client_PlatformVersion_Args, platform_version,
            platform_version_size);
  AXLE_CALL(ClientAddressableDevices, PJRT_Client_AddressableDevices);
  AXLE_FIELD(ClientAddressableDevices, client, PJRT_Client_AddressableDevices_Args, client);
  AXLE_FIELD(ClientAddressableDevices, devices, PJRT_Client_AddressableDevices_Args,
             addressable_devices);
  AXLE_FIELD(ClientAddressableDevices, num_devices, PJRT_Client_AddressableDevices_Args,
             num_addressable_devices);
  AXLE_CALL(DeviceGetDescription, PJRT_Device_GetDescription);
  AXLE_FIELD(DeviceGetDescription, device, PJRT_Device_GetDescription_Args, device);
  AXLE_FIELD(DeviceGetDescription, description, PJRT_Device_GetDescription_Args,
             device_description);
  AXLE_CALL(DeviceDescriptionId, PJRT_DeviceDescription_Id);
  AXLE_FIELD(DeviceDescriptionId, description, PJRT_DeviceDescription_Id_Args, device_description);
  AXLE_FIELD(DeviceDescriptionId, id, PJRT_DeviceDescription_Id_Args, id);
  AXLE_CALL(DeviceDescriptionKind, PJRT_DeviceDescription_Kind);
  AXLE_FIELD(DeviceDescriptionKind, description, PJRT_DeviceDescription_Kind_Args,
             device_description);
  AXLE_PAIR(DeviceDescriptionKind, kind, PJRT_DeviceDescription_Kind_Args, device_kind,
            device_kind_size);
  AXLE_CALL(DeviceDescriptionProcessIndex, PJRT_DeviceDescription_ProcessIndex);
  AXLE_FIELD(DeviceDescriptionProcessIndex, description, PJRT_DeviceDescription_ProcessIndex_Args,
             device_description);
  AXLE_FIELD(DeviceDescriptionProcessIndex, process_index, PJRT_DeviceDescription_ProcessIndex_Args,
             process_index);
  AXLE_CALL(DeviceDescriptionAttributes, PJRT_DeviceDescription_Attributes);
  AXLE_FIELD(DeviceDescriptionAttributes, description, PJRT_DeviceDescription_Attributes_Args,
             device_description);
  AXLE_FIELD(DeviceDescriptionAttributes, num_attributes, PJRT_DeviceDescription_Attributes_Args,
             num_attributes);
  AXLE_FIELD(DeviceDescriptionAttributes, attributes, PJRT_DeviceDescription_Attributes_Args,
             attributes);
  AXLE_CALL(DeviceMemoryStats, PJRT_Device_MemoryStats);
  AXLE_FIELD(DeviceMemoryStats, device, PJRT_Device_MemoryStats_Args, device);
  AXLE_FIELD(DeviceMemoryStats, bytes_in_use, PJRT_Device_MemoryStats_Args, bytes_in_use);
  AXLE_PAIR(DeviceMemoryStats, peak_bytes_in_use, PJRT_Device_MemoryStats_Args, peak_bytes_in_use,
            peak_bytes_in_use_is_set);
  AXLE_PAIR(DeviceMemoryStats, num_allocations, PJRT_Device_MemoryStats_Args, num_allocs,
            num_allocs_is_set);
  AXLE_PAIR(DeviceMemoryStats, largest_allocation, PJRT_Device_MemoryStats_Args, largest_alloc_size,
            largest_alloc_size_is_set);
  AXLE_PAIR(DeviceMemoryStats, bytes_limit, PJRT_Device_MemoryStats_Args, bytes_limit,
            bytes_limit_is_set);
  AXLE_PAIR(DeviceMemoryStats, bytes_reserved, PJRT_Device_MemoryStats_Args, bytes_reserved,
            bytes_reserved_is_set);
  AXLE_PAIR(DeviceMemoryStats, peak_bytes_reserved, PJRT_Device_MemoryStats_Args,
            peak_bytes_reserved, peak_bytes_reserved_is_set);
  AXLE_PAIR(DeviceMemoryStats, bytes_reservable_limit, PJRT_Device_MemoryStats_Args,
            bytes_reservable_limit, bytes_reservable_limit_is_set);
  AXLE_PAIR(DeviceMemoryStats, largest_free_block, PJRT_Device_MemoryStats_Args,
            largest_free_block_bytes, largest_free_block_bytes_is_set);
  AXLE_PAIR(DeviceMemoryStats, pool_bytes, PJRT_Device_MemoryStats_Args, pool_bytes,
            pool_bytes_is_set);
  AXLE_PAIR(DeviceMemoryStats, peak_pool_bytes, PJRT_Device_MemoryStats_Args, peak_pool_bytes,
            peak_pool_bytes_is_set);
  AXLE_PAIR(DeviceMemoryStats, peak_allocated_bytes, PJRT_Device_MemoryStats_Args,
            peak_allocated_bytes, peak_allocated_bytes_is_set);
}
TEST(PjrtAbi, Client) { compare_client(); }

void compare_buffers() {
  AXLE_CALL(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer);
  AXLE_FIELD(ClientBufferFromHostBuffer, client, PJRT_Client_BufferFromHostBuffer_Args, client);
  AXLE_FIELD(ClientBufferFromHostBuffer, data, PJRT_Client_BufferFromHostBuffer_Args, data);
  AXLE_FIELD(ClientBufferFromHostBuffer, type, PJRT_Client_BufferFromHostBuffer_Args, type);
  AXLE_FIELD(ClientBufferFromHostBuffer, dims, PJRT_Client_BufferFromHostBuffer_Args, dims);
  AXLE_FIELD(ClientBufferFromHostBuffer, num_dims, PJRT_Client_BufferFromHostBuffer_Args, num_dims);
  AXLE_FIELD(ClientBufferFromHostBuffer, byte_strides, PJRT_Client_BufferFromHostBuffer_Args,
             byte_strides);
  AXLE_FIELD(ClientBufferFromHostBuffer, num_byte_strides, PJRT_Client_BufferFromHostBuffer_Args,
             num_byte_strides);
  AXLE_FIELD(ClientBufferFromHostBuffer, semantics, PJRT_Client_BufferFromHostBuffer_Args,
             host_buffer_semantics);
  AXLE_FIELD(ClientBufferFromHostBuffer, device, PJRT_Client_BufferFromHostBuffer_Args, device);
  AXLE_FIELD(ClientBufferFromHostBuffer, memory, PJRT_Client_BufferFromHostBuffer_Args, memory);
  AXLE_FIELD(ClientBufferFromHostBuffer, device_layout, PJRT_Client_BufferFromHostBuffer_Args,
             device_layout);
  AXLE_FIELD(ClientBufferFromHostBuffer, done_with_host_buffer,
             PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer);
  AXLE_FIELD(ClientBufferFromHostBuffer, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
  AXLE_CALL(BufferDestroy, PJRT_Buffer_Destroy);
  AXLE_FIELD(BufferDestroy, buffer, PJRT_Buffer_Destroy_Args, buffer);
  AXLE_CALL(BufferIsDeleted, PJRT_Buffer_IsDeleted);
  AXLE_FIELD(BufferIsDeleted, buffer, PJRT_Buffer_IsDeleted_Args, buffer);
  AXLE_FIELD(BufferIsDeleted, is_deleted, PJRT_Buffer_IsDeleted_Args, is_deleted);
  AXLE_CALL(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer);
  AXLE_FIELD(BufferToHostBuffer, source, PJRT_Buffer_ToHostBuffer_Args, src);
  AXLE_FIELD(BufferToHostBuffer, host_layout, PJRT_Buffer_ToHostBuffer_Args, host_layout);
  AXLE_FIELD(BufferToHostBuffer, destination, PJRT_Buffer_ToHostBuffer_Args, dst);
  AXLE_FIELD(BufferToHostBuffer, destination_size, PJRT_Buffer_ToHostBuffer_Args, dst_size);
  AXLE_FIELD(BufferToHostBuffer, event, PJRT_Buffer_ToHostBuffer_Args, event);
  AXLE_CALL(BufferReadyEvent, PJRT_Buffer_ReadyEvent);
  AXLE_FIELD(BufferReadyEvent, buffer, PJRT_Buffer_ReadyEvent_Args, buffer);
  AXLE_FIELD(BufferReadyEvent, event, PJRT_Buffer_ReadyEvent_Args, event);
}
TEST(PjrtAbi, Buffers) { compare_buffers(); }

void compare_executables() {
  AXLE_CALL(ClientCompile, PJRT_Client_Compile);
  AXLE_FIELD(ClientCompile, client, PJRT_Client_Compile_Args, client);
  AXLE_FIELD(ClientCompile, program, PJRT_Client_Compile_Args, program);
  AXLE_PAIR(ClientCompile, compile_options, PJRT_Client_Compile_Args, compile_options,
            compile_options_size);
  AXLE_FIELD(ClientCompile, executable, PJRT_Client_Compile_Args, executable);
  AXLE_CALL(ExecutableDestroy, PJRT_Executable_Destroy);
  AXLE_FIELD(ExecutableDestroy, executable, PJRT_Executable_Destroy_Args, executable);
  AXLE_CALL(ExecutableNumOutputs, PJRT_Executable_NumOutputs);
  AXLE_FIELD(ExecutableNumOutputs, executable, PJRT_Executable_NumOutputs_Args, executable);
  AXLE_FIELD(ExecutableNumOutputs, num_outputs, PJRT_Executable_NumOutputs_Args, num_outputs);
  AXLE_CALL(ExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis);
  AXLE_FIELD(ExecutableGetCostAnalysis, executable, PJRT_Executable_GetCostAnalysis_Args,
             executable);
  AXLE_FIELD(ExecutableGetCostAnalysis, num_properties, PJRT_Executable_GetCostAnalysis_Args,
             num_properties);
  AXLE_FIELD(ExecutableGetCostAnalysis, properties, PJRT_Executable_GetCostAnalysis_Args,
             properties);
  AXLE_CALL(ExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram);
  AXLE_FIELD(ExecutableOptimizedProgram, executable, PJRT_Executable_OptimizedProgram_Args,
             executable);
  AXLE_FIELD(ExecutableOptimizedProgram, program, PJRT_Executable_OptimizedProgram_Args, program);
  AXLE_CALL(ExecutableSerialize, PJRT_Executable_Serialize);
  AXLE_FIELD(ExecutableSerialize, executable, PJRT_Executable_Serialize_Args, executable);
  AXLE_PAIR(ExecutableSerialize, bytes, PJRT_Executable_Serialize_Args, serialized_bytes,
            serialized_bytes_size);
  AXLE_FIELD(ExecutableSerialize, serialized, PJRT_Executable_Serialize_Args,
             serialized_executable);
  AXLE_FIELD(ExecutableSerialize, deleter, PJRT_Executable_Serialize_Args,
             serialized_executable_deleter);
  AXLE_CALL(LoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy);
  AXLE_FIELD(LoadedExecutableDestroy, executable, PJRT_LoadedExecutable_Destroy_Args, executable);
  AXLE_CALL(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable);
  AXLE_FIELD(LoadedExecutableGetExecutable, loaded, PJRT_LoadedExecutable_GetExecutable_Args,
             loaded_executable);
  AXLE_FIELD(LoadedExecutableGetExecutable, executable, PJRT_LoadedExecutable_GetExecutable_Args,
             executable);
  AXLE_CALL(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute);
  AXLE_FIELD(LoadedExecutableExecute, executable, PJRT_LoadedExecutable_Execute_Args, executable);
  AXLE_FIELD(LoadedExecutableExecute, options, PJRT_LoadedExecutable_Execute_Args, options);
  AXLE_FIELD(LoadedExecutableExecute, arguments, PJRT_LoadedExecutable_Execute_Args,
             argument_lists);
  AXLE_FIELD(LoadedExecutableExecute, num_devices, PJRT_LoadedExecutable_Execute_Args, num_devices);
  AXLE_FIELD(LoadedExecutableExecute, num_args, PJRT_LoadedExecutable_Execute_Args, num_args);
  AXLE_FIELD(LoadedExecutableExecute, outputs, PJRT_LoadedExecutable_Execute_Args, output_lists);
  AXLE_FIELD(LoadedExecutableExecute, device_complete_events, PJRT_LoadedExecutable_Execute_Args,
             device_complete_events);
  AXLE_FIELD(LoadedExecutableExecute, execute_device, PJRT_LoadedExecutable_Execute_Args,
             execute_device);
  AXLE_CALL(ExecutableDeserializeAndLoad, PJRT_Executable_DeserializeAndLoad);
  AXLE_FIELD(ExecutableDeserializeAndLoad, client, PJRT_Executable_DeserializeAndLoad_Args, client);
  AXLE_PAIR(ExecutableDeserializeAndLoad, serialized, PJRT_Executable_DeserializeAndLoad_Args,
            serialized_executable, serialized_executable_size);
  AXLE_FIELD(ExecutableDeserializeAndLoad, loaded, PJRT_Executable_DeserializeAndLoad_Args,
             loaded_executable);
  AXLE_PAIR(ExecutableDeserializeAndLoad, overridden_compile_options,
            PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options,
            overridden_serialized_compile_options_size);
  AXLE_FIELD(ExecutableDeserializeAndLoad, load_options, PJRT_Executable_DeserializeAndLoad_Args,
             load_options);
  AXLE_CALL(ExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, executable,
             PJRT_Executable_GetCompiledMemoryStats_Args, executable);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, code, PJRT_Executable_GetCompiledMemoryStats_Args,
             generated_code_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, argument,
             PJRT_Executable_GetCompiledMemoryStats_Args, argument_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, output, PJRT_Executable_GetCompiledMemoryStats_Args,
             output_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, alias, PJRT_Executable_GetCompiledMemoryStats_Args,
             alias_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, temporary,
             PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, host_code,
             PJRT_Executable_GetCompiledMemoryStats_Args, host_generated_code_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, host_argument,
             PJRT_Executable_GetCompiledMemoryStats_Args, host_argument_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, host_output,
             PJRT_Executable_GetCompiledMemoryStats_Args, host_output_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, host_alias,
             PJRT_Executable_GetCompiledMemoryStats_Args, host_alias_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, host_temporary,
             PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, peak, PJRT_Executable_GetCompiledMemoryStats_Args,
             peak_memory_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, total, PJRT_Executable_GetCompiledMemoryStats_Args,
             total_size_in_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, total_allocation,
             PJRT_Executable_GetCompiledMemoryStats_Args, total_allocation_bytes);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, indefinite_allocations,
             PJRT_Executable_GetCompiledMemoryStats_Args, indefinite_allocations);
  AXLE_FIELD(ExecutableGetCompiledMemoryStats, peak_unpadded_heap,
             PJRT_Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes);
}
TEST(PjrtAbi, Executables) { compare_executables(); }

void compare_topologies() {
  AXLE_CALL(TopologyCreate, PJRT_TopologyDescription_Create);
  AXLE_PAIR(TopologyCreate, name, PJRT_TopologyDescription_Create_Args, topology_name,
            topology_name_size);
  AXLE_FIELD(TopologyCreate, options, PJRT_TopologyDescription_Create_Args, create_options);
  AXLE_FIELD(TopologyCreate, num_options, PJRT_TopologyDescription_Create_Args, num_options);
  AXLE_FIELD(TopologyCreate, topology, PJRT_TopologyDescription_Create_Args, topology);
  AXLE_CALL(TopologyDestroy, PJRT_TopologyDescription_Destroy);
  AXLE_FIELD(TopologyDestroy, topology, PJRT_TopologyDescription_Destroy_Args, topology);
  AXLE_CALL(TopologyPlatformName, PJRT_TopologyDescription_PlatformName);
  AXLE_FIELD(TopologyPlatformName, topology, PJRT_TopologyDescription_PlatformName_Args, topology);
  AXLE_PAIR(TopologyPlatformName, name, PJRT_TopologyDescription_PlatformName_Args, platform_name,
            platform_name_size);
  AXLE_CALL(TopologyPlatformVersion, PJRT_TopologyDescription_PlatformVersion);
  AXLE_FIELD(TopologyPlatformVersion, topology, PJRT_TopologyDescription_PlatformVersion_Args,
             topology);
  AXLE_PAIR(TopologyPlatformVersion, version, PJRT_TopologyDescription_PlatformVersion_Args,
            platform_version, platform_version_size);
  AXLE_CALL(TopologyGetDeviceDescriptions, PJRT_TopologyDescription_GetDeviceDescriptions);
  AXLE_FIELD(TopologyGetDeviceDescriptions, topology,
             PJRT_TopologyDescription_GetDeviceDescriptions_Args, topology);
  AXLE_FIELD(TopologyGetDeviceDescriptions, descriptions,
             PJRT_TopologyDescription_GetDeviceDescriptions_Args, descriptions);
  AXLE_FIELD(TopologyGetDeviceDescriptions, num_descriptions,
             PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions);
  AXLE_CALL(Compile, PJRT_Compile);
  AXLE_FIELD(Compile, topology, PJRT_Compile_Args, topology);
  AXLE_FIELD(Compile, program, PJRT_Compile_Args, program);
  AXLE_PAIR(Compile, compile_options, PJRT_Compile_Args, compile_options, compile_options_size);
  AXLE_FIELD(Compile, client, PJRT_Compile_Args, client);
  AXLE_FIELD(Compile, executable, PJRT_Compile_Args, executable);
}
TEST(PjrtAbi, Topologies) { compare_topologies(); }

// Every call that Axle makes must have been compared.
TEST(PjrtAbi, NoCallIsForgotten) {
  compare_errors_events_and_plugin();
  compare_client();
  compare_buffers();
  compare_executables();
  compare_topologies();
  for (const auto* calls : {&required_calls(), &optional_calls()}) {
    for (const auto& call : *calls) EXPECT_TRUE(checked_slots.contains(call.slot)) << call.name;
  }
}

}  // namespace
}  // namespace axle::pjrt

#else

TEST(PjrtAbi, Header) {
  GTEST_SKIP() << "no PJRT header in .axle/pjrt_header: run tools/fetch_pjrt_header.sh, then cmake";
}

#endif
