#include "pjrt/pjrt_runtime.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/devices/sharding.h"
#include "pjrt/array.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/executable.h"
#include "pjrt/kernels/host_kernels.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin_watch.h"
#include "runtime/executable_cache.h"
#include "runtime/interpreter_runtime.h"
#include "runtime/mesh_devices.h"
#include "targets/device_order.h"

namespace axle {
namespace {

pjrt::LoadedExecutable* compile_request(const PjrtClient& client,
                                        const PjrtCompileRequest& request) {
  pjrt::ClientCompile args{.client = client.get()};
  request.make(args);
  return args.executable;
}

}  // namespace

PjrtRuntime::PjrtRuntime(const Plugin& plugin, int64_t num_devices, std::string compile_cache)
    : client_(std::make_shared<const PjrtClient>(plugin, num_devices)),
      compile_cache_(std::move(compile_cache)) {
  enable_host_kernels(plugin);  // for programs that are loaded from bytes; a refusal does no harm
}

LoweringTarget PjrtRuntime::lowering_target() const {
  return axle::lowering_target(plugin(), topology(), [client = client_](const Program& program) {
    const PjrtCompileRequest request(client->plugin(), client->topology(), DevicePresence::kPresent,
                                     program, {});
    const PluginObject<pjrt::LoadedExecutable, pjrt::LoadedExecutableDestroy> dropped(
        client->plugin(), compile_request(*client, request));
  });
}

std::unique_ptr<Executable> PjrtRuntime::compile(const Program& program,
                                                 const CompileOptions& options) {
  return compile_for(
      program, [this] { return lowering_target(); },
      [&](const Program& lowered) { return compile_lowered(lowered, options); });
}

std::unique_ptr<Executable> PjrtRuntime::compile_lowered(const Program& program,
                                                         const CompileOptions& options) {
  const auto& plugin = client_->plugin();
  const PjrtCompileRequest request(plugin, topology(), DevicePresence::kPresent, program, options);
  const bool loses_order =
      plugin.policy().reorders_loaded_collectives && program.mesh.num_devices() > 1;
  const std::string& cache_dir = options.cache_dir.empty() ? compile_cache_ : options.cache_dir;
  if (cache_dir.empty() || loses_order || !plugin.has<pjrt::ExecutableSerialize>() ||
      !plugin.has<pjrt::ExecutableDeserializeAndLoad>()) {
    return std::make_unique<PjrtExecutable>(client_, compile_request(*client_, request), program);
  }
  const ExecutableCache cache(cache_dir);
  const std::string key = cache.key(plugin.path(), topology(), program.text, request.encoded());
  if (const auto bytes = cache.read(key)) {
    try {
      return load(*bytes, program);
    } catch (const DeviceError&) {
      cache.remove(key);  // the plugin refuses undamaged bytes, so the program is compiled again
    }
  }
  auto executable =
      std::make_unique<PjrtExecutable>(client_, compile_request(*client_, request), program);
  try {
    cache.write(key, executable->serialize());
  } catch (const DeviceError&) {
    // A plugin that can serialize may still refuse this program, which is then not cached.
  } catch (const StorageError& error) {
    static std::atomic<bool> told = false;
    if (!told.exchange(true)) {
      report_to_stderr(fmt::format(
          "WARNING: compiled programs are not cached: {}; name another folder, or none, by "
          "--compile-cache or AXLE_COMPILE_CACHE",
          error.what()));
    }
  }
  return executable;
}

std::unique_ptr<Executable> PjrtRuntime::load(const std::string& serialized,
                                              const Program& program) {
  pjrt::ExecutableDeserializeAndLoad args{.client = client_->get(),
                                          .serialized = {serialized.data(), serialized.size()}};
  const Plugin& plugin = client_->plugin();
  {
    const PluginTask task(
        fmt::format("program '{}', plugin '{}'", program.name, plugin.policy().platform),
        "be loaded");
    plugin.call(args, fmt::format("program '{}', from bytes", program.name));
  }
  return std::make_unique<PjrtExecutable>(client_, args.loaded, program);
}

ArrayPtr PjrtRuntime::make_array(const HostTensor& value, const PartitionSpec& sharding,
                                 const Mesh& mesh) {
  const auto order = device_order(topology(), mesh);
  const std::string where = fmt::format("array {} to device", to_text(value.type()));
  const auto slices = shard_slices(value.shape(), sharding, mesh, "array");
  std::vector<PjrtBuffer> shards;
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto& slice = slices[i];
    const Type type{value.dtype(), slice.size};
    if (is_contiguous(slice, value.shape())) {
      const auto offset =
          static_cast<size_t>(offset_of(slice, value.shape())) * size_bytes(value.dtype());
      shards.push_back(send_buffer(*client_, client_->devices()[order[i]],
                                   value.bytes().data() + offset, type, where));
    } else {
      const HostTensor part = extract(value, slice);
      shards.push_back(
          send_buffer(*client_, client_->devices()[order[i]], part.bytes().data(), type, where));
    }
  }
  return std::make_shared<PjrtArray>(client_, value.type(), sharding, mesh, std::move(shards));
}

namespace {

bool is_known(const std::string& backend) {
  const auto& rows = plugin_policies();
  return std::ranges::any_of(rows, [&](const auto& row) { return row.platform == backend; }) ||
         !named_plugin_file(backend).empty();
}

}  // namespace

std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options) {
  check_device_count("num_devices", options.num_devices);
  if (options.backend == "interpreter")
    return std::make_unique<InterpreterRuntime>(options.num_devices);
  if (!is_known(options.backend)) {
    std::vector<std::string> names = {"interpreter"};
    for (const auto& row : plugin_policies()) names.push_back(row.platform);
    throw ConfigError(
        fmt::format("backend: expected one of {}, got '{}'{}; for any other PJRT plugin set {}",
                    fmt::join(names, ", "), options.backend, suggest(options.backend, names),
                    plugin_variable(options.backend)));
  }
  return std::make_unique<PjrtRuntime>(load_plugin(options.backend), options.num_devices,
                                       options.compile_cache);
}

}  // namespace axle
