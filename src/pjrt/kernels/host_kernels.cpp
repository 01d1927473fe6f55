#include "pjrt/kernels/host_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "ops/kernels/kernel.h"

namespace axle {
namespace {

// Ranges for each thread, so that one that loses its core holds the others up for little.
constexpr int64_t kRangesPerThread = 4;

// The loop that its threads share. A thread that comes when all ranges are taken does nothing.
class Loop {
 public:
  Loop(int64_t count, int64_t range, const std::function<void(int64_t, int64_t)>& work)
      : count_(count), range_(range), work_(work) {}

  void run() {
    for (;;) {
      const int64_t first = next_.fetch_add(range_);
      if (first >= count_) return;
      const int64_t last = std::min(first + range_, count_);
      try {
        work_(first, last);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      num_done_ += last - first;
      if (num_done_ == count_) done_.notify_all();
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return num_done_ == count_; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const int64_t count_, range_;
  // Used only while the caller of pool_loop waits.
  const std::function<void(int64_t, int64_t)>& work_;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable done_;
  int64_t num_done_ = 0;
  std::exception_ptr error_;
};

int64_t num_threads_of(const ffi::Api& api, ffi::Context* context) {
  int64_t out = 1;
  ffi::ThreadPoolNumThreads args{.head = {sizeof(ffi::ThreadPoolNumThreads), nullptr},
                                 .context = context,
                                 .num_threads = &out};
  if (ffi::Error* error = api.thread_pool_num_threads(&args)) {
    ffi::ErrorDestroy destroy{.head = {sizeof(ffi::ErrorDestroy), nullptr}, .error = error};
    api.error_destroy(&destroy);
    return 1;
  }
  return out;
}

// Gives the loop to a thread of the pool; without one the caller does all the work.
void give_to_pool(const ffi::Api& api, ffi::Context* context, const std::shared_ptr<Loop>& loop) {
  auto owned = std::make_unique<std::shared_ptr<Loop>>(loop);
  ffi::ThreadPoolSchedule args{.head = {sizeof(ffi::ThreadPoolSchedule), nullptr},
                               .context = context,
                               .task =
                                   [](void* data) {
                                     const std::unique_ptr<std::shared_ptr<Loop>> own(
                                         static_cast<std::shared_ptr<Loop>*>(data));
                                     (*own)->run();
                                   },
                               .data = owned.get()};
  ffi::Error* error = api.thread_pool_schedule(&args);
  if (!error) {
    owned.release();
    return;
  }
  ffi::ErrorDestroy destroy{.head = {sizeof(ffi::ErrorDestroy), nullptr}, .error = error};
  api.error_destroy(&destroy);
}

}  // namespace

void pool_loop(const ffi::Api& api, ffi::Context* context, int64_t count, int64_t grain,
               const std::function<void(int64_t first, int64_t last)>& work) {
  if (count <= 0) return;
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  const int64_t threads = most == 1 ? 1 : std::min(num_threads_of(api, context), most);
  if (threads <= 1) return work(0, count);
  const int64_t ranges = std::min(threads * kRangesPerThread, most);
  const auto loop = std::make_shared<Loop>(count, (count + ranges - 1) / ranges, work);
  for (int64_t i = 1; i < threads; ++i) give_to_pool(api, context, loop);
  loop->run();
  loop->wait();
}

namespace {

DType dtype_of_element(ffi::ElementType type) {
  switch (type) {
    case ffi::ElementType::kPred:
      return DType::kPred;
    case ffi::ElementType::kS4:
      return DType::kI4;
    case ffi::ElementType::kS8:
      return DType::kI8;
    case ffi::ElementType::kS16:
      return DType::kI16;
    case ffi::ElementType::kS32:
      return DType::kI32;
    case ffi::ElementType::kS64:
      return DType::kI64;
    case ffi::ElementType::kU4:
      return DType::kU4;
    case ffi::ElementType::kU8:
      return DType::kU8;
    case ffi::ElementType::kU16:
      return DType::kU16;
    case ffi::ElementType::kU32:
      return DType::kU32;
    case ffi::ElementType::kU64:
      return DType::kU64;
    case ffi::ElementType::kF8E4M3FN:
      return DType::kF8E4M3FN;
    case ffi::ElementType::kF8E5M2:
      return DType::kF8E5M2;
    case ffi::ElementType::kF16:
      return DType::kF16;
    case ffi::ElementType::kBF16:
      return DType::kBF16;
    case ffi::ElementType::kF32:
      return DType::kF32;
    case ffi::ElementType::kF64:
      return DType::kF64;
    case ffi::ElementType::kC64:
      return DType::kC64;
    case ffi::ElementType::kC128:
      return DType::kC128;
  }
  throw DeviceError(fmt::format("host kernel: unknown element type {}", static_cast<int>(type)));
}

std::vector<HostKernelBuffer> read_buffers(const ffi::Buffers& list) {
  std::vector<HostKernelBuffer> out;
  for (int64_t i = 0; i < list.count; ++i) {
    const auto& buffer = *static_cast<const ffi::Buffer*>(list.entries[i]);
    out.push_back({dtype_of_element(buffer.type),
                   {buffer.dims, static_cast<size_t>(buffer.rank)},
                   buffer.data});
  }
  return out;
}

KernelAttributes::Value read_scalar(const ffi::Scalar& scalar) {
  switch (scalar.type) {
    case ffi::ElementType::kPred:
      return *static_cast<const bool*>(scalar.value);
    case ffi::ElementType::kS64:
      return *static_cast<const int64_t*>(scalar.value);
    case ffi::ElementType::kF64:
      return *static_cast<const double*>(scalar.value);
    default:
      throw DeviceError(fmt::format("host kernel: unknown type {} of an attribute",
                                    static_cast<int>(scalar.type)));
  }
}

KernelAttributes read_attributes(const ffi::AttributeList& list) {
  KernelAttributes out;
  for (int64_t i = 0; i < list.count; ++i) {
    const std::string name(list.names[i]->data, list.names[i]->size);
    if (list.kinds[i] == ffi::AttributeKind::kString) {
      const auto& text = *static_cast<const ffi::Text*>(list.entries[i]);
      out.values.emplace(name, std::string(text.data, text.size));
    } else if (list.kinds[i] == ffi::AttributeKind::kScalar) {
      out.values.emplace(name, read_scalar(*static_cast<const ffi::Scalar*>(list.entries[i])));
    } else {
      throw DeviceError("host kernel: attribute " + name + " is neither a scalar nor a text");
    }
  }
  return out;
}

void call_kernel(const ffi::CallFrame& frame) {
  const KernelAttributes attributes = read_attributes(frame.attributes);
  const auto& kernel = attributes.get<std::string>(kKernelNameAttribute);
  const auto version = attributes.get<int64_t>(kKernelVersionAttribute);
  const HostKernel run = find_host_kernel(kernel, version);
  if (!run) {
    throw DeviceError(fmt::format("host kernel {}: expected version {}, got none in this process",
                                  kernel, version));
  }
  const auto operands = read_buffers(frame.operands), results = read_buffers(frame.results);
  run({.operands = operands,
       .results = results,
       .attributes = attributes,
       .parallel = [&](int64_t count, int64_t grain, const auto& work) {
         pool_loop(*frame.api, frame.context, count, grain, work);
       }});
}

// Answers XLA's question for the version of FFI that the handler is written for. Returns false if
// the frame asks for something else.
bool tell_version(const ffi::CallFrame& frame) {
  for (ffi::Extension* e = frame.head.extensions; e; e = e->next) {
    if (e->type != ffi::kMetadataExtension) continue;
    ffi::Metadata& metadata = *reinterpret_cast<ffi::MetadataExtension*>(e)->metadata;
    metadata.version.major = ffi::kMajor;
    metadata.version.minor = ffi::kMinor;
    metadata.traits = 0;
    return true;
  }
  return false;
}

std::string register_handler(const Plugin& plugin) {
  for (pjrt::Extension* e = plugin.api().extensions; e; e = e->next) {
    if (e->type != pjrt::kFfiExtension) continue;
    pjrt::FfiRegisterHandler args{.struct_size = pjrt::wire_size<pjrt::FfiRegisterHandler>(),
                                  .target = {kHostKernelTarget.data(), kHostKernelTarget.size()},
                                  .handler = reinterpret_cast<void*>(&run_host_kernel),
                                  .platform = {"Host", 4}};
    const auto failure =
        plugin.take(reinterpret_cast<pjrt::FfiExtension*>(e)->register_handler(&args));
    return failure ? "the plugin refuses them: " + failure->message : "";
  }
  return "the plugin has no FFI extension, which calls functions of this process";
}

}  // namespace

ffi::Error* run_host_kernel(ffi::CallFrame* frame) {
  if (tell_version(*frame)) return nullptr;
  std::string message;
  try {
    if (frame->stage == ffi::Stage::kExecute) call_kernel(*frame);
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
  }
  ffi::ErrorCreate create{.head = {sizeof(ffi::ErrorCreate), nullptr}, .message = message.c_str()};
  return frame->api->error_create(&create);
}

std::string enable_host_kernels(const Plugin& plugin) {
  if (plugin.policy().device_count_option.empty())
    return "its programs do not run on the host's cores";
  static std::mutex mutex;
  static std::map<const Plugin*, std::string> answers;  // plugins are never unloaded
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = answers.try_emplace(&plugin);
  if (is_new) it->second = register_handler(plugin);
  return it->second;
}

}  // namespace axle
