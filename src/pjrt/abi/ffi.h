// PJRT's and XLA's binary interface of typed custom calls (FFI), in our own declarations: programs
// of a plugin call functions of this process.
//
// A handler is a C function that takes a CallFrame and returns nullptr or an error. The structs
// mirror XLA's FFI version 0.3 (ffi_abi_test.cpp compares them).
#pragma once

#include "pjrt/abi/plugin.h"

namespace axle::pjrt {

/// The type of the extension of a plugin that registers handlers (Extension::type).
inline constexpr int kFfiExtension = 5;

/// This struct has no field for extensions.
struct FfiRegisterHandler {
  static constexpr size_t kTailPadding = 4;
  size_t struct_size = 0;
  Text target;              // the name of the custom call
  void* handler = nullptr;  // an FfiHandler
  Text platform;            // "Host" for the CPU, "CUDA"
  int traits = 0;
};

struct FfiExtension {
  Extension base;
  void* type_register;
  void* user_data_add;
  Error* (*register_handler)(FfiRegisterHandler* args);
};

}  // namespace axle::pjrt

namespace axle::ffi {

inline constexpr int kMajor = 0;
inline constexpr int kMinor = 3;  // the minor version that these declarations mirror

struct Extension {
  size_t struct_size;
  int type;
  Extension* next;
};
/// The first field of every struct.
struct Head {
  size_t struct_size = 0;
  Extension* extensions = nullptr;
};

/// A view of text that XLA owns.
struct Text {
  const char* data;
  size_t size;
};

// Opaque objects of XLA.
struct Error;
struct Context;

enum class ErrorCode : int { kInvalidArgument = 3, kInternal = 13 };
enum class AttributeKind : int { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
enum class ElementType : int {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kC64 = 15,
  kBF16 = 16,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kS4 = 21,
  kU4 = 22
};
enum class Stage : int { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct Buffer {
  Head head;
  ElementType type;
  void* data;
  int64_t rank;
  const int64_t* dims;
};
struct Scalar {
  ElementType type;
  const void* value;
};

/// Operands or results. Each entry is a Buffer.
struct Buffers {
  Head head;
  int64_t count;
  const int* kinds;
  void** entries;
};
/// Sorted by name. An entry is a Scalar or, for a string, a Text.
struct AttributeList {
  Head head;
  int64_t count;
  const AttributeKind* kinds;
  const Text* const* names;
  void** entries;
};

/// The metadata that XLA asks a handler for when it is registered.
struct ApiVersion {
  Head head;
  int major;
  int minor;
};
struct Metadata {
  size_t struct_size;
  ApiVersion version;
  uint32_t traits;
  int64_t state_type;
};
inline constexpr int kMetadataExtension = 1;
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct ErrorCreate {
  Head head;
  const char* message = nullptr;
  ErrorCode code = ErrorCode::kInternal;
};
/// Runs `task` later on a thread of XLA's pool.
struct ThreadPoolSchedule {
  Head head;
  Context* context = nullptr;
  void (*task)(void* data) = nullptr;
  void* data = nullptr;
};
struct ThreadPoolNumThreads {
  Head head;
  Context* context = nullptr;
  int64_t* num_threads = nullptr;  // out
};
struct ErrorDestroy {
  Head head;
  Error* error = nullptr;
};

/// XLA's functions for handlers.
struct Api {
  Head head;
  ApiVersion version;
  const void* internal;
  Error* (*error_create)(ErrorCreate*);
  void* error_message;
  void (*error_destroy)(ErrorDestroy*);
  void* others[8];  // of no use here
  Error* (*thread_pool_schedule)(ThreadPoolSchedule*);
  Error* (*thread_pool_num_threads)(ThreadPoolNumThreads*);
  // More functions follow.
};

struct CallFrame {
  Head head;
  const Api* api;
  Context* context;
  Stage stage;
  Buffers operands;
  Buffers results;
  AttributeList attributes;
  void* future;  // out, for handlers that return before they are done
};
using Handler = Error* (*)(CallFrame* frame);

}  // namespace axle::ffi
