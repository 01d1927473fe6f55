// The binary interface of PJRT plugins (https://openxla.org/xla/pjrt), in our own declarations: the
// parts that all calls share, errors, events and the plugin itself. Clients, buffers, executables
// and topologies: pjrt_abi_*.h.
//
// A plugin exports `const Api* GetPjrtApi()`. The Api is a table of calls; each takes one struct of
// arguments, whose first fields say how large the caller believes it to be, and returns an Error*
// (nullptr: all is well). A struct below names the table slot of its call in `kSlot` and mirrors
// PJRT minor version 114 byte for byte (pjrt_abi_test.cpp compares them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace axle::pjrt {

inline constexpr int kMajor = 0;
inline constexpr int kMinor = 114;  // the version that these declarations mirror
inline constexpr int kNumSlots = 138;

struct Extension {
  size_t struct_size;
  int type;  // see Plugin::extensions
  Extension* next;
};

/// Starts every struct of arguments. The caller of Plugin::call leaves it alone.
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
  size_t struct_size;  // slots that start beyond it do not exist
  Extension* extensions;
  Version version;
  void* slots[kNumSlots];
};

/// Bytes of a struct as PJRT counts them: up to the end of its last field, without padding after
/// it.
template <class T>
constexpr size_t wire_size() {
  if constexpr (requires { T::kTailPadding; })
    return sizeof(T) - T::kTailPadding;
  else
    return sizeof(T);
}

/// Text that someone else owns; not terminated by a zero.
struct Text {
  const char* data = nullptr;
  size_t size = 0;
};
/// Empty where the plugin gave nothing, whatever the size says.
inline std::string_view to_view(Text text) {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}

// Objects of a plugin: only ever pointed to.
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

/// Returns nothing, as does ErrorMessage.
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

/// A setting or attribute of one of five types.
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

/// Something that will have happened, or failed, later.
struct EventDestroy {
  static constexpr int kSlot = 5;
  Head head;
  Event* event = nullptr;
};

/// Blocks; the returned error is the event's own.
struct EventAwait {
  static constexpr int kSlot = 8;
  Head head;
  Event* event = nullptr;
};

}  // namespace axle::pjrt
