// A compiled program in a file: one machine compiles it, another runs it without compiling.
//
// The file consists of, in order:
//   a line that names the format
//   the length of the header (8 bytes, little endian)
//   the header (JSON: what the program was compiled by and for)
//   the plugin's bytes of the executable
//   the SHA-256 of everything before, as 64 hexadecimal digits
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lower/stablehlo.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/compiler.h"
#include "runtime/runtime.h"

namespace axle {

/// The plugin that made an executable. No other plugin can load the executable.
struct PluginVersion {
  std::string platform;
  std::string platform_version;                   // as the plugin prints it
  std::string api_version;                        // PJRT's version, "0.115"
  std::map<std::string, std::string> attributes;  // "xla_version", ...
  std::string sha256;                             // of the plugin's file
};

/// What a saved executable was compiled by and for.
struct SavedHeader {
  std::string axle_version;
  PluginVersion plugin;
  std::string processor;    // CPU: SHA-256 of the instruction sets; other platforms: empty
  std::string target;       // "tpu:v5p:4x8x8"
  std::string device_kind;  // as the plugin names it
  std::string mesh;
  std::vector<int64_t> device_ids;  // the device at each position of the mesh, row-major
  std::string program;
  std::string text_sha256;                   // of the StableHLO text without locations
  Settings options;                          // the user's compiler options, sorted
  std::vector<std::string> inputs, outputs;  // the signature, one line per value
};

std::string header_to_json(const SavedHeader& header);
/// Parses a header. Throws StorageError, whose message begins with `where`, if `text` is not one.
SavedHeader header_from_json(std::string_view text, const std::string& where);

/// Writes `compiled` to `path`, either the whole file or nothing. `compiled` must be the result of
/// compiling `program` with `compiler` and `options`. Throws DeviceError if the plugin cannot
/// serialize the program, and StorageError if the file cannot be written.
void save_executable(const std::filesystem::path& path, const CompiledProgram& compiled,
                     const Program& program, const Compiler& compiler,
                     const CompileOptions& options = {});

/// Returns the header of a saved executable after checking the file's SHA-256. Throws ConfigError
/// if the file does not exist, is a folder or is of another kind, and StorageError if the file was
/// cut off or changed.
SavedHeader read_saved_header(const std::filesystem::path& path);

/// Loads a saved executable onto the devices of `runtime`, a PjrtRuntime, without compiling. The
/// file must have been compiled from `program` and `options` by the runtime's own plugin. Throws
/// what read_saved_header throws; DeviceError if the file needs another plugin, kind of device or
/// processor; ConfigError if its program, signature, mesh, options or devices differ.
std::unique_ptr<Executable> load_executable(const std::filesystem::path& path, Runtime& runtime,
                                            const Program& program,
                                            const CompileOptions& options = {});

}  // namespace axle
