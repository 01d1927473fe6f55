// A compiled program in a file of its own: compiled on one machine, run on another without
// compiling.
//
// The file: a line that names the format, the header's length (8 bytes, little endian), the header
// (JSON: what the program was compiled by and for), the plugin's bytes, and the SHA-256 of all that
// precedes as 64 digits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lower/program.h"
#include "pjrt/compile/compiler.h"
#include "pjrt/compile/compiler_settings.h"
#include "runtime/runtime.h"

namespace axle {

/// The plugin that made an executable: no other can read it.
struct PluginVersion {
  std::string platform;
  std::string platform_version;                   // of the topology, as the plugin prints it
  std::string api_version;                        // of PJRT, "0.115"
  std::map<std::string, std::string> attributes;  // "xla_version", ...
  std::string sha256;                             // of its file
};

/// What a saved executable was compiled by and for.
struct SavedHeader {
  std::string axle_version;
  PluginVersion plugin;
  std::string processor;    // CPU: hash of the instruction sets; else empty
  std::string target;       // "tpu:v5p:4x8x8"
  std::string device_kind;  // as the plugin names it
  std::string mesh;
  std::vector<int64_t> device_ids;  // by position in the mesh
  std::string program;
  std::string text_sha256;                   // of the StableHLO without locations
  Settings options;                          // the user's
  std::vector<std::string> inputs, outputs;  // the signature, a line each
};

/// Writes `path` as a whole or not at all. `compiled` is what `compiler` made of `program` with
/// `options`. Throws DeviceError where the plugin can't give its bytes, StorageError.
void save_executable(const std::filesystem::path& path, const CompiledProgram& compiled,
                     const Program& program, const Compiler& compiler,
                     const CompileOptions& options = {});

/// What a file says of itself, its bytes checked. Throws ConfigError if there is no such file or it
/// is another kind of file or a folder, StorageError if it was cut off or changed.
SavedHeader read_saved_header(const std::filesystem::path& path);

/// Loads onto the devices of `runtime`, without compiling, what must have been compiled from
/// `program` and `options` by the runtime's own plugin. Throws as read_saved_header does;
/// DeviceError if another plugin, another kind of device or processor is wanted, naming both;
/// ConfigError for another program, signature, mesh or options.
std::unique_ptr<Executable> load_executable(const std::filesystem::path& path, Runtime& runtime,
                                            const Program& program,
                                            const CompileOptions& options = {});

}  // namespace axle
