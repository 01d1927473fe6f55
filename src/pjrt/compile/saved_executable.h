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
#include <vector>

#include "lower/trace_program.h"
#include "pjrt/compile/compiler.h"
#include "pjrt/compile/saved_header.h"
#include "runtime/runtime.h"

namespace axle {

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
