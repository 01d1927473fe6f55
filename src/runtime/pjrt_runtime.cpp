#include "runtime/pjrt_runtime.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/compile_options.h"
#include "runtime/executable_cache.h"
#include "runtime/pjrt_array.h"
#include "runtime/pjrt_executable.h"

namespace axle {
namespace {

std::string encode(const PjrtClient& client, const Program& program,
                   const CompileOptions& options) {
  const int64_t n = program.mesh.num_devices();
  return encode_compile_options(
      {.num_partitions = n, .device_ids = client.device_ids(n), .overrides = options.overrides});
}

pjrt::LoadedExecutable* compile_text(const PjrtClient& client, const Program& program,
                                     const std::string& options) {
  const auto& plugin = client.plugin();
  std::string text = program.text;  // the plugin's type for it is not const
  auto source = plugin.padded(
      pjrt::Program{.code = text.data(), .code_size = text.size(), .format = {"mlir", 4}});
  pjrt::ClientCompile args{.client = client.get(),
                           .program = &source.value,
                           .compile_options = {options.data(), options.size()}};
  if (const auto failure = plugin.try_call(args)) {
    throw_failure(fmt::format("program '{}'", program.name), *failure, ExitCode::kDoesNotCompile);
  }
  return args.executable;
}

}  // namespace

PjrtRuntime::PjrtRuntime(const Plugin& plugin, int64_t num_devices)
    : client_(std::make_shared<const PjrtClient>(plugin, num_devices)) {}

std::unique_ptr<Executable> PjrtRuntime::compile(const Program& program,
                                                 const CompileOptions& options) {
  const std::string encoded = encode(*client_, program, options);
  const auto& plugin = client_->plugin();
  if (options.cache_dir.empty() || !plugin.has<pjrt::ExecutableSerialize>() ||
      !plugin.has<pjrt::ExecutableDeserializeAndLoad>()) {
    return std::make_unique<PjrtExecutable>(client_, compile_text(*client_, program, encoded),
                                            program);
  }
  const ExecutableCache cache(options.cache_dir);
  const std::string key = cache.key(plugin, topology(), program.text, encoded);
  if (const auto bytes = cache.read(key)) {
    try {
      return load(*bytes, program);
    } catch (const DeviceError&) {
      cache.remove(key);  // sound bytes that the plugin refuses all the same: compiled anew below
    }
  }
  auto executable =
      std::make_unique<PjrtExecutable>(client_, compile_text(*client_, program, encoded), program);
  try {
    cache.write(key, executable->serialize());
  } catch (const DeviceError&) {
    // A plugin that has the call may still refuse this program; it works without being kept.
  }
  return executable;
}

std::unique_ptr<Executable> PjrtRuntime::load(const std::string& serialized,
                                              const Program& program) {
  pjrt::ExecutableDeserializeAndLoad args{.client = client_->get(),
                                          .serialized = {serialized.data(), serialized.size()}};
  client_->plugin().call(args, fmt::format("program '{}', from bytes", program.name));
  return std::make_unique<PjrtExecutable>(client_, args.loaded, program);
}

ArrayPtr PjrtRuntime::make_array(const HostTensor& value, const PartitionSpec& sharding,
                                 const Mesh& mesh) {
  return make_pjrt_array(client_, value, sharding, mesh);
}

}  // namespace axle
