#include "pjrt/saved_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/json.h"
#include "base/version.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "lower/stablehlo.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/executable_cache.h"
#include "targets/device_order.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMaxHeaderBytes = size_t{64} << 20;

}  // namespace

std::string header_to_json(const SavedHeader& header) {
  const auto& plugin = header.plugin;
  return Json{{"axle", header.axle_version},
              {"plugin",
               {{"platform", plugin.platform},
                {"platform_version", plugin.platform_version},
                {"api_version", plugin.api_version},
                {"attributes", plugin.attributes},
                {"sha256", plugin.sha256}}},
              {"processor", header.processor},
              {"target", header.target},
              {"device_kind", header.device_kind},
              {"mesh", header.mesh},
              {"device_ids", header.device_ids},
              {"program", header.program},
              {"text_sha256", header.text_sha256},
              {"options", header.options},
              {"inputs", header.inputs},
              {"outputs", header.outputs}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

SavedHeader header_from_json(std::string_view text, const std::string& where) {
  return json_as<StorageError>(where + ": not a saved executable's header", [&] {
    const Json document = read_json(text, kMaxHeaderBytes);
    const JsonView json(document), plugin = json.at("plugin");
    SavedHeader out{.axle_version = json.at("axle").text(),
                    .plugin = {.platform = plugin.at("platform").text(),
                               .platform_version = plugin.at("platform_version").text(),
                               .api_version = plugin.at("api_version").text(),
                               .sha256 = plugin.at("sha256").text()},
                    .processor = json.at("processor").text(),
                    .target = json.at("target").text(),
                    .device_kind = json.at("device_kind").text(),
                    .mesh = json.at("mesh").text(),
                    .program = json.at("program").text(),
                    .text_sha256 = json.at("text_sha256").text(),
                    .inputs = json.at("inputs").texts(),
                    .outputs = json.at("outputs").texts()};
    for (const auto& [name, value] : plugin.at("attributes").members())
      out.plugin.attributes.emplace(name, value.text());
    for (const JsonView& id : json.at("device_ids").elements())
      out.device_ids.push_back(id.integer(0, std::numeric_limits<int64_t>::max()));
    for (const JsonView& option : json.at("options").elements()) {
      const std::vector<std::string> pair = option.texts();
      if (pair.size() != 2) option.fail("a name and its value");
      out.options.emplace_back(pair[0], pair[1]);
    }
    return out;
  });
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "axle saved executable 1\n";
constexpr size_t kLengthBytes = 8, kDigestBytes = 64;

PluginVersion version_of(const Plugin& plugin, const Topology& topology,
                         const fs::path& cache_dir) {
  return {.platform = plugin.policy().platform,
          .platform_version = topology.platform_version,
          .api_version = plugin.api_version(),
          .attributes = plugin.attributes(),
          .sha256 = plugin_hash(plugin.path(), cache_dir)};
}

/// Returns "'cpu', PJRT API 0.115, StableHLO 1.20.0, file 1319390d948b".
std::string describe(const PluginVersion& version) {
  std::string out = fmt::format("'{}', PJRT API {}", version.platform, version.api_version);
  const auto stablehlo = version.attributes.find("stablehlo_current_version");
  if (stablehlo != version.attributes.end()) out += ", StableHLO " + stablehlo->second;
  return out + ", file " + version.sha256.substr(0, 12);
}

std::string signature_line(const ProgramValue& value) {
  return fmt::format("{} {} {}{}", value.name, to_text(value.type), to_text(value.sharding),
                     value.donated_to < 0 ? "" : fmt::format(" donated to {}", value.donated_to));
}

std::vector<std::string> signature(const std::vector<ProgramValue>& values) {
  std::vector<std::string> out;
  for (const auto& value : values) out.push_back(signature_line(value));
  return out;
}

Settings sorted(Settings settings) {
  std::ranges::sort(settings);
  return settings;
}

SavedHeader header_of(const Program& program, const Plugin& plugin, const Topology& topology,
                      const std::string& target, const CompileOptions& options) {
  const bool is_cpu = topology.platform == "cpu";
  return {.axle_version = std::string(version()),
          .plugin = version_of(plugin, topology, options.cache_dir),
          .processor = is_cpu ? sha256_hex(host_instruction_sets()) : "",
          .target = target,
          .device_kind = topology.devices.at(0).kind,
          .mesh = to_text(program.mesh),
          .device_ids = device_ids(topology, program.mesh),
          .program = program.name,
          .text_sha256 = sha256_hex(without_locations(program.text)),
          .options = sorted(options.overrides),
          .inputs = signature(program.inputs),
          .outputs = signature(program.outputs)};
}

struct SavedFile {
  SavedHeader header;
  std::string code;
};

[[noreturn]] void fail_damaged(const std::string& where) {
  throw StorageError(
      fmt::format("{}: expected a complete file, got one that was truncated or changed; `axle "
                  "compile --save` it again",
                  where));
}

SavedFile read_saved(const fs::path& path) {
  const std::string where = path.string();
  const auto fail_other = [&](std::string_view what) {
    throw ConfigError(fmt::format("{}: expected a saved executable, got {}", where, what));
  };
  if (!path_exists(path)) fail_other(nothing_at(path));
  if (directory_exists(path)) fail_other("a folder");
  const FileReader file(path);
  std::string bytes(std::min(static_cast<size_t>(file.size()), kMagic.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  if (bytes != kMagic) fail_other("another kind of file");
  bytes.resize(file.size());
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  constexpr size_t kStart = kMagic.size() + kLengthBytes;
  uint64_t header_bytes = 0;
  if (bytes.size() < kStart + kDigestBytes) fail_damaged(where);
  std::memcpy(&header_bytes, bytes.data() + kMagic.size(), kLengthBytes);
  const auto body = std::string_view(bytes).substr(0, bytes.size() - kDigestBytes);
  // The last bytes of a truncated file are not the digest of the bytes before them.
  if (sha256_hex(body) != std::string_view(bytes).substr(body.size())) fail_damaged(where);
  if (header_bytes > body.size() - kStart) {
    throw StorageError(
        fmt::format("{}: offset {}: expected a header within {} bytes, got one of {}", where,
                    kMagic.size(), body.size() - kStart, header_bytes));
  }
  return {header_from_json(body.substr(kStart, header_bytes), where),
          std::string(body.substr(kStart + header_bytes))};
}

/// Throws ConfigError for the first line that differs: "expected X, got an executable with Y".
void check_lines(const std::string& where, const char* what, const std::vector<std::string>& ours,
                 const std::vector<std::string>& saved) {
  for (size_t i = 0; i < std::max(ours.size(), saved.size()); ++i) {
    const auto line = [&](const auto& lines) {
      return i < lines.size() ? "'" + lines[i] + "'" : std::string("none");
    };
    if (line(ours) == line(saved)) continue;
    throw ConfigError(fmt::format("{}: {} {}: expected {}, got an executable with {}", where, what,
                                  i, line(ours), line(saved)));
  }
}

void check_devices(const std::string& where, const SavedHeader& saved, const SavedHeader& ours) {
  if (saved.plugin.platform != ours.plugin.platform || saved.plugin.sha256 != ours.plugin.sha256) {
    throw DeviceError(
        fmt::format("{}: expected an executable of plugin {}, got one of plugin {}; compile again "
                    "with this plugin, or get that one",
                    where, describe(ours.plugin), describe(saved.plugin)));
  }
  if (saved.device_kind != ours.device_kind) {
    throw DeviceError(fmt::format("{}: expected an executable for '{}', got one for '{}' ({})",
                                  where, ours.device_kind, saved.device_kind, saved.target));
  }
  if (saved.processor != ours.processor) {
    throw DeviceError(fmt::format(
        "{}: expected an executable for this processor, got one for a processor of other "
        "instruction sets; compile it here",
        where));
  }
}

void check_program(const std::string& where, const SavedHeader& saved, const SavedHeader& ours) {
  if (saved.program != ours.program) {
    throw ConfigError(
        fmt::format("{}: expected program '{}', got '{}'", where, ours.program, saved.program));
  }
  if (saved.mesh != ours.mesh) {
    throw ConfigError(fmt::format("{}: expected mesh '{}', got an executable for '{}'", where,
                                  ours.mesh, saved.mesh));
  }
  check_lines(where, "argument", ours.inputs, saved.inputs);
  check_lines(where, "result", ours.outputs, saved.outputs);
  const auto as_lines = [](const Settings& settings) {
    std::vector<std::string> out;
    for (const auto& [name, value] : settings) out.push_back(name + "=" + value);
    return out;
  };
  check_lines(where, "compiler option", as_lines(ours.options), as_lines(saved.options));
  if (saved.text_sha256 != ours.text_sha256) {
    const std::string expected = fmt::format(
        "{}: expected program '{}' as it is now, got one of another config", where, ours.program);
    if (saved.axle_version == ours.axle_version)
      throw ConfigError(expected + "; give compile the same flags, also --steps");
    throw ConfigError(
        fmt::format("{} or another version of Axle (saved by {}, this is {}); save it again",
                    expected, saved.axle_version, ours.axle_version));
  }
  if (saved.device_ids != ours.device_ids) {
    throw ConfigError(fmt::format(
        "{}: expected the devices of this machine in the order of mesh '{}', got those of {}",
        where, ours.mesh, saved.target));
  }
}

}  // namespace

void save_executable(const fs::path& path, const CompiledProgram& compiled, const Program& program,
                     const Compiler& compiler, const CompileOptions& options) {
  const std::string code = compiled.serialize();
  const std::string header = header_to_json(header_of(
      program, compiler.plugin(), compiler.topology(), to_text(compiler.target()), options));
  const uint64_t header_bytes = header.size();
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header_bytes), kLengthBytes);
  bytes.append(header).append(code);
  bytes += sha256_hex(bytes);
  replace_file(path, bytes);
}

SavedHeader read_saved_header(const fs::path& path) { return read_saved(path).header; }

std::unique_ptr<Executable> load_executable(const fs::path& path, Runtime& runtime,
                                            const Program& program, const CompileOptions& options) {
  const SavedFile saved = read_saved(path);
  const auto* const pjrt = dynamic_cast<const PjrtRuntime*>(&runtime);
  if (!pjrt) {
    throw DeviceError(fmt::format("{}: expected the runtime of a PJRT plugin, got '{}'",
                                  path.string(), runtime.topology().platform));
  }
  const auto ours = header_of(program, pjrt->plugin(), runtime.topology(), "", options);
  check_devices(path.string(), saved.header, ours);
  check_program(path.string(), saved.header, ours);
  return runtime.load(saved.code, program);
}

}  // namespace axle
