// The header of a saved executable, and its JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/compile/compiler_settings.h"

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

}  // namespace axle
