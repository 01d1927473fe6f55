// Compares ffi.h with the published headers (tools/fetch_pjrt_header.sh).
#include <gtest/gtest.h>

#include "pjrt/abi/ffi.h"

#if __has_include("xla/pjrt/c/pjrt_c_api_ffi_extension.h") && __has_include("xla/ffi/api/c_api.h")
#include "xla/ffi/api/c_api.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace axle {
namespace {

#define AXLE_SIZE(ours, theirs) EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs
#define AXLE_FIELD(ours, field, theirs, their_field)                          \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, their_field)) << #theirs; \
  EXPECT_EQ(sizeof(ours::field), sizeof(theirs::their_field)) << #theirs "." #their_field

TEST(FfiAbi, ExtensionOfPjrt) {
  EXPECT_EQ(pjrt::kFfiExtension, PJRT_Extension_Type_FFI);
  AXLE_SIZE(pjrt::FfiExtension, PJRT_FFI_Extension);
  AXLE_FIELD(pjrt::FfiExtension, register_handler, PJRT_FFI_Extension, register_handler);
  AXLE_SIZE(pjrt::FfiRegisterHandler, PJRT_FFI_Register_Handler_Args);
  EXPECT_EQ(pjrt::wire_size<pjrt::FfiRegisterHandler>(),
            size_t{PJRT_FFI_Register_Handler_Args_STRUCT_SIZE});
  EXPECT_EQ(offsetof(pjrt::FfiRegisterHandler, target),
            offsetof(PJRT_FFI_Register_Handler_Args, target_name));
  EXPECT_EQ(offsetof(pjrt::FfiRegisterHandler, platform),
            offsetof(PJRT_FFI_Register_Handler_Args, platform_name));
  AXLE_FIELD(pjrt::FfiRegisterHandler, handler, PJRT_FFI_Register_Handler_Args, handler);
  AXLE_FIELD(pjrt::FfiRegisterHandler, traits, PJRT_FFI_Register_Handler_Args, traits);
}

TEST(FfiAbi, Enums) {
  EXPECT_EQ(ffi::kMajor, XLA_FFI_API_MAJOR);
  EXPECT_EQ(ffi::kMinor, XLA_FFI_API_MINOR);
  EXPECT_EQ(ffi::kMetadataExtension, XLA_FFI_Extension_Metadata);
  EXPECT_EQ(int(ffi::ErrorCode::kInvalidArgument), XLA_FFI_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(int(ffi::ErrorCode::kInternal), XLA_FFI_Error_Code_INTERNAL);
  EXPECT_EQ(int(ffi::AttributeKind::kScalar), XLA_FFI_AttrType_SCALAR);
  EXPECT_EQ(int(ffi::AttributeKind::kString), XLA_FFI_AttrType_STRING);
  EXPECT_EQ(int(ffi::Stage::kExecute), XLA_FFI_ExecutionStage_EXECUTE);
  using Type = ffi::ElementType;
  EXPECT_EQ(int(Type::kPred), XLA_FFI_DataType_PRED);
  EXPECT_EQ(int(Type::kS4), XLA_FFI_DataType_S4);
  EXPECT_EQ(int(Type::kS8), XLA_FFI_DataType_S8);
  EXPECT_EQ(int(Type::kS16), XLA_FFI_DataType_S16);
  EXPECT_EQ(int(Type::kS32), XLA_FFI_DataType_S32);
  EXPECT_EQ(int(Type::kS64), XLA_FFI_DataType_S64);
  EXPECT_EQ(int(Type::kU4), XLA_FFI_DataType_U4);
  EXPECT_EQ(int(Type::kU8), XLA_FFI_DataType_U8);
  EXPECT_EQ(int(Type::kU16), XLA_FFI_DataType_U16);
  EXPECT_EQ(int(Type::kU32), XLA_FFI_DataType_U32);
  EXPECT_EQ(int(Type::kU64), XLA_FFI_DataType_U64);
  EXPECT_EQ(int(Type::kF16), XLA_FFI_DataType_F16);
  EXPECT_EQ(int(Type::kF32), XLA_FFI_DataType_F32);
  EXPECT_EQ(int(Type::kF64), XLA_FFI_DataType_F64);
  EXPECT_EQ(int(Type::kBF16), XLA_FFI_DataType_BF16);
  EXPECT_EQ(int(Type::kF8E5M2), XLA_FFI_DataType_F8E5M2);
  EXPECT_EQ(int(Type::kF8E4M3FN), XLA_FFI_DataType_F8E4M3FN);
  EXPECT_EQ(int(Type::kC64), XLA_FFI_DataType_C64);
  EXPECT_EQ(int(Type::kC128), XLA_FFI_DataType_C128);
}

TEST(FfiAbi, CallFrame) {
  AXLE_SIZE(ffi::CallFrame, XLA_FFI_CallFrame);
  EXPECT_EQ(offsetof(ffi::CallFrame, head) + offsetof(ffi::Head, extensions),
            offsetof(XLA_FFI_CallFrame, extension_start));
  AXLE_FIELD(ffi::CallFrame, api, XLA_FFI_CallFrame, api);
  AXLE_FIELD(ffi::CallFrame, context, XLA_FFI_CallFrame, ctx);
  AXLE_FIELD(ffi::CallFrame, stage, XLA_FFI_CallFrame, stage);
  AXLE_FIELD(ffi::CallFrame, operands, XLA_FFI_CallFrame, args);
  AXLE_FIELD(ffi::CallFrame, results, XLA_FFI_CallFrame, rets);
  AXLE_FIELD(ffi::CallFrame, attributes, XLA_FFI_CallFrame, attrs);
  AXLE_FIELD(ffi::CallFrame, future, XLA_FFI_CallFrame, future);
  AXLE_FIELD(ffi::Buffers, count, XLA_FFI_Args, size);
  AXLE_FIELD(ffi::Buffers, kinds, XLA_FFI_Args, types);
  AXLE_FIELD(ffi::Buffers, entries, XLA_FFI_Args, args);
  AXLE_FIELD(ffi::Buffers, entries, XLA_FFI_Rets, rets);
  AXLE_FIELD(ffi::AttributeList, count, XLA_FFI_Attrs, size);
  AXLE_FIELD(ffi::AttributeList, kinds, XLA_FFI_Attrs, types);
  AXLE_FIELD(ffi::AttributeList, names, XLA_FFI_Attrs, names);
  AXLE_FIELD(ffi::AttributeList, entries, XLA_FFI_Attrs, attrs);
  AXLE_SIZE(ffi::Buffer, XLA_FFI_Buffer);
  AXLE_FIELD(ffi::Buffer, type, XLA_FFI_Buffer, dtype);
  AXLE_FIELD(ffi::Buffer, data, XLA_FFI_Buffer, data);
  AXLE_FIELD(ffi::Buffer, rank, XLA_FFI_Buffer, rank);
  AXLE_FIELD(ffi::Buffer, dims, XLA_FFI_Buffer, dims);
  AXLE_SIZE(ffi::Scalar, XLA_FFI_Scalar);
  AXLE_FIELD(ffi::Scalar, type, XLA_FFI_Scalar, dtype);
  AXLE_FIELD(ffi::Scalar, value, XLA_FFI_Scalar, value);
  AXLE_SIZE(ffi::Text, XLA_FFI_ByteSpan);
  AXLE_FIELD(ffi::Text, data, XLA_FFI_ByteSpan, ptr);
  AXLE_FIELD(ffi::Text, size, XLA_FFI_ByteSpan, len);
}

TEST(FfiAbi, FunctionsAndMetadata) {
  AXLE_FIELD(ffi::Api, version, XLA_FFI_Api, api_version);
  AXLE_FIELD(ffi::Api, error_create, XLA_FFI_Api, XLA_FFI_Error_Create);
  AXLE_FIELD(ffi::Api, error_destroy, XLA_FFI_Api, XLA_FFI_Error_Destroy);
  AXLE_FIELD(ffi::Api, thread_pool_schedule, XLA_FFI_Api, XLA_FFI_ThreadPool_Schedule);
  AXLE_FIELD(ffi::Api, thread_pool_num_threads, XLA_FFI_Api, XLA_FFI_ThreadPool_NumThreads);
  EXPECT_EQ(pjrt::wire_size<ffi::ErrorCreate>(), sizeof(XLA_FFI_Error_Create_Args));
  AXLE_FIELD(ffi::ErrorCreate, message, XLA_FFI_Error_Create_Args, message);
  AXLE_FIELD(ffi::ErrorCreate, code, XLA_FFI_Error_Create_Args, errc);
  AXLE_SIZE(ffi::ErrorDestroy, XLA_FFI_Error_Destroy_Args);
  AXLE_SIZE(ffi::ThreadPoolSchedule, XLA_FFI_ThreadPool_Schedule_Args);
  AXLE_FIELD(ffi::ThreadPoolSchedule, task, XLA_FFI_ThreadPool_Schedule_Args, task);
  AXLE_FIELD(ffi::ThreadPoolSchedule, data, XLA_FFI_ThreadPool_Schedule_Args, data);
  AXLE_SIZE(ffi::ThreadPoolNumThreads, XLA_FFI_ThreadPool_NumThreads_Args);
  AXLE_FIELD(ffi::ThreadPoolNumThreads, num_threads, XLA_FFI_ThreadPool_NumThreads_Args,
             num_threads);
  AXLE_SIZE(ffi::Metadata, XLA_FFI_Metadata);
  AXLE_FIELD(ffi::Metadata, version, XLA_FFI_Metadata, api_version);
  AXLE_FIELD(ffi::Metadata, traits, XLA_FFI_Metadata, traits);
  AXLE_FIELD(ffi::Metadata, state_type, XLA_FFI_Metadata, state_type_id);
  AXLE_FIELD(ffi::MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
  AXLE_FIELD(ffi::ApiVersion, major, XLA_FFI_Api_Version, major_version);
  AXLE_FIELD(ffi::ApiVersion, minor, XLA_FFI_Api_Version, minor_version);
}

}  // namespace
}  // namespace axle

#else

TEST(FfiAbi, Header) {
  GTEST_SKIP() << "no PJRT header in .axle/pjrt_header: run tools/fetch_pjrt_header.sh, then cmake";
}

#endif
