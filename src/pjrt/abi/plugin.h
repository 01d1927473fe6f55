// The binary interface of PJRT plugins (https://openxla.org/xla/pjrt), in our own declarations.
// This file holds the parts that all calls share, errors, events and the plugin itself. The other
// files of this folder hold clients, buffers, executables, topologies and calls of kernels.
//
// A plugin exports `const Api* GetPjrtApi()`. The Api is a table of calls. Each call takes one
// argument struct and returns an Error*, which is nullptr on success. The first field of an
// argument struct is the size that the caller believes the struct to have. Each struct below holds
// the table slot of its call in `kSlot` and mirrors PJRT minor version 114 byte for byte
// (plugin_abi_test.cpp compares them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace axle::pjrt {

inline constexpr int kMajor = 0;
inline constexpr int kMinor = 114;  // the minor version that these declarations mirror
inline constexpr int kNumSlots = 138;

struct Extension {
  size_t struct_size;
  int type;  // see Plugin::extensions
  Extension* next;
};

/// The first field of every argument struct. Plugin::call fills it in; its callers leave it alone.
struct Head {
  size_t struct_size = 0;
  Extension* extensions = nullptr;
};

struct Version {
  size_t struct_size;
  Extension* extensions;
  int major;
  int minor;
};

struct Api {
  size_t struct_size;  // in the plugin; slots that end beyond this size do not exist
  Extension* extensions;
  Version version;
  void* slots[kNumSlots];
};

/// The size of a struct as PJRT counts it: up to the end of the last field, without trailing
/// padding.
template <class T>
constexpr size_t wire_size() {
  if constexpr (requires { T::kTailPadding; })
    return sizeof(T) - T::kTailPadding;
  else
    return sizeof(T);
}

/// A view of text that someone else owns. The text is not null-terminated.
struct Text {
  const char* data = nullptr;
  size_t size = 0;
};
/// Returns an empty view if `data` is null, whatever `size` says.
inline std::string_view to_view(Text text) {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}

// Opaque objects of a plugin: Axle only holds pointers to them.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct SerializedExecutable;
struct Topology;

enum class ErrorCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// This call returns void, not an Error*; so does ErrorMessage.
struct ErrorDestroy {
  static constexpr int kSlot = 0;
  Head head;
  Error* error = nullptr;
};

struct ErrorMessage {
  static constexpr int kSlot = 1;
  Head head;
  const Error* error = nullptr;
  Text message;  // out; lives as long as the error
};

struct ErrorGetCode {
  static constexpr int kSlot = 2;
  static constexpr size_t kTailPadding = 4;
  Head head;
  const Error* error = nullptr;
  ErrorCode code = ErrorCode::kOk;  // out
};

/// A named option or attribute with a value of one of five types.
struct NamedValue {
  enum class Kind : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
  Head head;
  Text name;
  Kind kind = Kind::kInt64;
  union {
    const char* string_value = nullptr;
    int64_t int64_value;
    const int64_t* int64_list_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;  // length of a string or list, else 1
};

struct PluginInitialize {
  static constexpr int kSlot = 3;
  Head head;
};

struct PluginAttributes {
  static constexpr int kSlot = 4;
  Head head;
  const NamedValue* attributes = nullptr;  // out; lives as long as the plugin
  size_t num_attributes = 0;               // out
};

/// Destroys an event: a handle for work that ends or fails later.
struct EventDestroy {
  static constexpr int kSlot = 5;
  Head head;
  Event* event = nullptr;
};

/// Blocks until the event is ready. The returned error is that of the event's work.
struct EventAwait {
  static constexpr int kSlot = 8;
  Head head;
  Event* event = nullptr;
};

}  // namespace axle::pjrt
