#include "pjrt/plugin/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>

#include "base/error.h"
#include "base/text/text.h"
#include "pjrt/abi/calls.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin_watch.h"

namespace axle {
namespace {

const char* const kErrorNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Resources other than a device's main memory for which PJRT reports RESOURCE_EXHAUSTED: the fast
// memories of a core, and resources of the system.
constexpr std::string_view kOtherResources[] = {
    "vmem",      "smem",         "sflag",     "shared memory",   "register file", "scratchpad",
    "semaphore", "threads",      "processes", "file descriptor", "open files",    "larger than max",
    "quota",     "no space left"};

bool is_of_another_resource(const std::string& message) {
  const std::string text = lower_case(message.substr(0, message.find('\n')));
  return std::ranges::any_of(kOtherResources,
                             [&](auto name) { return text.find(name) != text.npos; });
}

}  // namespace

std::string name_of(pjrt::ErrorCode code) {
  const auto i = static_cast<size_t>(code);
  return i < std::size(kErrorNames) ? kErrorNames[i] : fmt::format("error {}", i);
}

void throw_failure(std::string_view where, const PluginFailure& failure, ExitCode exit_code) {
  if (failure.code == pjrt::ErrorCode::kResourceExhausted &&
      !is_of_another_resource(failure.message))
    exit_code = ExitCode::kDoesNotFit;
  throw DeviceError(fmt::format("{}: {}: {}", where, name_of(failure.code), failure.message),
                    exit_code);
}

namespace {

// Older plugins do not read Shardy shardings in a program's text.
constexpr int kOldestMinor = 70;

const char* const kExtensionNames[] = {"GpuCustomCall",
                                       "Profiler",
                                       "CustomPartitioner",
                                       "Stream",
                                       "Layouts",
                                       "FFI",
                                       "MemoryDescriptions",
                                       "Triton",
                                       "RawBuffer",
                                       "PhaseCompile",
                                       "Example",
                                       "Unknown",
                                       "CrossHostTransfers",
                                       "ExecutableMetadata",
                                       "Callback",
                                       "HostAllocator",
                                       "TpuTopology",
                                       "TpuExecutable",
                                       "Megascale",
                                       "Shardings",
                                       "AbiVersion",
                                       "Collectives",
                                       "MultiSlice",
                                       "HostMemoryAllocator",
                                       "XlaTransform"};

std::string text_of(const pjrt::NamedValue& value) {
  using ValueKind = pjrt::NamedValue::Kind;
  switch (value.kind) {
    case ValueKind::kString:
      return std::string(value.string_value, value.value_size);
    case ValueKind::kInt64:
      return std::to_string(value.int64_value);
    case ValueKind::kInt64List:
      return fmt::format("{}", fmt::join(std::span(value.int64_list_value, value.value_size), "."));
    case ValueKind::kFloat:
      return fmt::format("{}", value.float_value);
    case ValueKind::kBool:
      return value.bool_value ? "true" : "false";
  }
  return "?";
}

}  // namespace

Plugin::Plugin(const pjrt::Api* api, PluginPolicy policy, std::filesystem::path path)
    : api_(api), policy_(std::move(policy)), path_(std::move(path)) {
  const auto& version = api_->version;
  const std::string where = fmt::format("plugin '{}' ({})", policy_.platform, path_.string());
  if (version.major != pjrt::kMajor || version.minor < kOldestMinor) {
    throw DeviceError(fmt::format(
        "{}: expected PJRT API {}.{} or later (this program is built for {}.{}), got {}.{}; {}",
        where, pjrt::kMajor, kOldestMinor, pjrt::kMajor, pjrt::kMinor, version.major, version.minor,
        policy_.install_hint));
  }
  for (const auto& slot : pjrt::required_calls()) {
    if (!has_slot(slot.slot)) {
      throw DeviceError(fmt::format(
          "{}: expected a table of calls with {}, got one of {} bytes without it (PJRT API {})",
          where, slot.name, api_->struct_size, api_version()));
    }
  }
  pjrt::PluginInitialize args;
  first_call(args, where);
}

std::string Plugin::advice() const { return advice_for(policy_.platform, path_); }

PluginFailure Plugin::with_advice(PluginFailure failure) const {
  const std::string more = advice();
  if (more.empty()) return failure;
  failure.message.resize(failure.message.find_last_not_of(" .\n") + 1);  // drops a final period
  failure.message += more;
  return failure;
}

std::string Plugin::api_version() const {
  return fmt::format("{}.{}", api_->version.major, api_->version.minor);
}

std::map<std::string, std::string> Plugin::attributes() const {
  std::map<std::string, std::string> out;
  pjrt::PluginAttributes args;
  if (try_call(args) || !args.attributes) return out;
  for (const auto& value : std::span(args.attributes, args.num_attributes)) {
    out.emplace(std::string(value.name.data, value.name.size), text_of(value));
  }
  return out;
}

std::vector<std::string> Plugin::extensions() const {
  std::vector<std::string> out;
  for (const auto* e = api_->extensions; e; e = e->next) {
    const auto i = static_cast<size_t>(e->type);
    out.push_back(i < std::size(kExtensionNames) ? kExtensionNames[i]
                                                 : fmt::format("extension {}", i));
  }
  return out;
}

bool Plugin::has_slot(int slot) const {
  const size_t end = offsetof(pjrt::Api, slots) + sizeof(void*) * (static_cast<size_t>(slot) + 1);
  return end <= api_->struct_size && api_->slots[slot] != nullptr;
}

std::optional<PluginFailure> Plugin::invoke(int slot, void* args) const {
  if (!has_slot(slot)) {
    return PluginFailure{
        pjrt::ErrorCode::kUnimplemented,
        fmt::format("the plugin (PJRT API {}) does not have call {}", api_version(), slot)};
  }
  pjrt::Error* error = nullptr;
  {
    const PluginCall inside;
    error = reinterpret_cast<pjrt::Error* (*)(void*)>(api_->slots[slot])(args);
  }
  return take(error);
}

std::optional<PluginFailure> Plugin::take(pjrt::Error* error) const {
  if (!error) return std::nullopt;
  // ErrorMessage and ErrorDestroy return void, so they can't go through invoke.
  const auto plain_call = [&]<class Args>(Args args) {
    auto in_out = padded(args);
    reinterpret_cast<void (*)(void*)>(api_->slots[Args::kSlot])(&in_out);
    return in_out.value;
  };
  PluginFailure failure;
  auto code = padded(pjrt::ErrorGetCode{.error = error});
  // If asking for the code fails, the code stays kUnknown.
  if (auto* second = reinterpret_cast<pjrt::Error* (*)(void*)>(
          api_->slots[pjrt::ErrorGetCode::kSlot])(&code)) {
    plain_call(pjrt::ErrorDestroy{.error = second});
  } else {
    failure.code = code.value.code;
  }
  const auto text = plain_call(pjrt::ErrorMessage{.error = error}).message;
  if (text.data) failure.message.assign(text.data, text.size);
  plain_call(pjrt::ErrorDestroy{.error = error});
  return failure;
}

std::optional<PluginFailure> Plugin::await(pjrt::Event* event) const {
  if (!event) return std::nullopt;
  const PluginObject<pjrt::Event, pjrt::EventDestroy> owned(*this, event);
  pjrt::EventAwait args{.event = event};
  return try_call(args);
}

const Plugin& load_plugin(std::string_view platform, const std::filesystem::path& file) {
  static std::mutex mutex;
  // The loaded plugins by file. Never destroyed, because arrays in other static objects may be
  // destroyed later.
  static auto* const loaded = new std::map<std::string, std::unique_ptr<const Plugin>>();
  const std::lock_guard lock(mutex);
  const std::string path = std::filesystem::absolute(file).lexically_normal().string();
  auto& plugin = (*loaded)[path];
  if (plugin) return *plugin;
  const auto policy = plugin_policy(platform);
  const std::string where = fmt::format("plugin '{}' ({})", platform, path);
  const auto folder = std::filesystem::path(path).parent_path();
  apply_environment(policy, folder);
  // AXLE_PLUGIN_<NAME> may name another platform's plugin by mistake. With its own environment that
  // plugin fails at once; without, it may hang.
  for (const auto& row : plugin_policies()) {
    if (std::ranges::count(row.files, file.filename().string()) > 0) apply_environment(row, folder);
  }
  const std::string advice = advice_for(platform, path);
  const auto fail = [&](const std::string& what) {
    throw DeviceError(fmt::format("{}: {}{}", where, what, advice));
  };
  if (const auto size = shared_object_size(path); size && !size->is_complete()) {
    fail(fmt::format("expected a whole shared object of at least {} bytes, got {}; {}",
                     size->expected_bytes, size->bytes,
                     advice.empty() ? "remove it, then " + policy.install_hint : "fetch it again"));
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(fmt::format("can't be loaded: {}", ::dlerror()));
  const auto get_api = reinterpret_cast<const pjrt::Api* (*)()>(::dlsym(library, "GetPjrtApi"));
  if (!get_api) fail("expected a PJRT plugin, got a library without GetPjrtApi");
  const PluginTask task(where);
  const auto* api = get_api();
  if (!api) fail("expected a table of calls, got none from GetPjrtApi");
  plugin = std::make_unique<Plugin>(api, policy, path);
  if (PluginWatch* const watch = plugin_watch())
    watch->loaded(where, reinterpret_cast<const void*>(get_api));
  return *plugin;
}

const Plugin& load_plugin(std::string_view platform) {
  const auto policy = plugin_policy(platform);
  const auto file = find_plugin_file(policy);
  if (!file) {
    throw DeviceError(
        fmt::format("plugin '{}': expected {} in .axle/plugins or in {}, got nothing; {}", platform,
                    policy.files.empty() ? "a file" : policy.files[0], plugin_variable(platform),
                    policy.install_hint));
  }
  return load_plugin(platform, *file);
}

}  // namespace axle
