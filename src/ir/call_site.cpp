#include "ir/call_site.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace axle {
namespace {

thread_local const CallSite* g_calls = nullptr;

bool equal(const CallSite& a, const CallSite& b) {
  return a.hash == b.hash && a.depth == b.depth && a.addresses == b.addresses;
}
struct Hash {
  size_t operator()(const CallSite& c) const { return c.hash; }
};
struct Equal {
  bool operator()(const CallSite& a, const CallSite& b) const { return equal(a, b); }
};

const CallSite* intern(const CallSite& calls) {
  // Most ops of a program come from a few lines: the table saves them the lock.
  constexpr size_t kNumRecent = 4096;
  static std::array<std::atomic<const CallSite*>, kNumRecent> recent;
  std::atomic<const CallSite*>& slot = recent[calls.hash % kNumRecent];
  const CallSite* known = slot.load(std::memory_order_acquire);
  if (known && equal(*known, calls)) return known;
  static std::mutex mutex;
  static auto* const all = new std::unordered_set<CallSite, Hash, Equal>;  // leaked, as graphs are
  const std::lock_guard lock(mutex);
  known = &*all->insert(calls).first;
  slot.store(known, std::memory_order_release);
  return known;
}

// The addresses of this thread's stack, which grows downward.
struct Stack {
  uintptr_t low = 0, end = 0;
  Stack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* address = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
      low = reinterpret_cast<uintptr_t>(address);
      end = low + size;
    }
    pthread_attr_destroy(&attributes);
  }
  bool contains(uintptr_t frame) const {
    return frame >= low && frame + 2 * sizeof(void*) <= end && frame % sizeof(void*) == 0;
  }
};

// A frame starts with the address of the caller's frame and the return address. Code that keeps
// something else in the register makes the walk skip its callers or end: addresses outside of the
// stack are not read.
[[gnu::noinline]] const CallSite* calls_of_stack() {
  thread_local const Stack stack;
  CallSite calls;
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  uint64_t hash = 0;
  while (calls.depth < CallSite::kMaxDepth && stack.contains(frame)) {
    const auto* words = reinterpret_cast<const uintptr_t*>(frame);
    const uintptr_t caller = words[0], return_address = words[1];
    if (return_address == 0) break;
    calls.addresses[calls.depth++] = return_address;
    hash = (hash ^ return_address) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    if (caller <= frame) break;
    frame = caller;
  }
  calls.hash = hash;
  return intern(calls);
}

// The folders whose code emits ops for somebody else.
constexpr std::string_view kInnerFolders[] = {"base", "ir", "ops", "transform", "nn"};

bool is_users(std::string_view path) {
  if (path.starts_with("/usr/include/") || path.starts_with("/usr/lib/") ||
      path.find("/include/c++/") != path.npos) {
    return false;
  }
  constexpr std::string_view kInstalled = "/include/axle/";
  const std::string own = source_root() + "src/";
  std::string_view inside;
  if (path.starts_with(own)) {
    inside = path.substr(own.size());
  } else if (const size_t at = path.find(kInstalled); at != path.npos) {
    inside = path.substr(at + kInstalled.size());
  }
  const std::string_view folder = inside.substr(0, inside.find('/'));
  return std::ranges::count(kInnerFolders, folder) == 0 || path.ends_with("_test.cpp");
}

}  // namespace

const CallSite* current_call_site() { return g_calls ? g_calls : calls_of_stack(); }

const CallSite* no_calls() {
  static const CallSite none;
  return &none;
}

CallSiteScope::CallSiteScope(const CallSite* calls) : saved_(std::exchange(g_calls, calls)) {}
CallSiteScope::~CallSiteScope() { g_calls = saved_; }

std::string source_line(const CallSite* calls) {
  for (size_t i = 0; calls && i < calls->depth; ++i) {
    for (const SourceLine& at : source_lines(calls->addresses[i])) {
      if (is_users(at.file)) return fmt::format("{}:{}", shown_path(at.file), at.line);
    }
  }
  return "";
}

}  // namespace axle

#ifdef AXLE_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace axle {
namespace {

namespace fs = std::filesystem;

std::string normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

}  // namespace

#ifdef AXLE_HAS_BACKTRACE
std::vector<SourceLine> source_lines(uintptr_t return_address) {
  // Files that cannot be read count as files without debug information.
  const auto ignore = [](void*, const char*, int) {};
  const auto add = [](void* lines, uintptr_t, const char* file, int line, const char*) {
    if (file) static_cast<std::vector<SourceLine>*>(lines)->push_back({normal(file), line});
    return 0;
  };
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // libbacktrace never frees its state.
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore, nullptr);
  std::vector<SourceLine> out;
  // The call is the instruction before the one to return to.
  if (state) backtrace_pcinfo(state, return_address - 1, add, ignore, &out);
  return out;
}
#else
std::vector<SourceLine> source_lines(uintptr_t) { return {}; }
#endif

// The root is what comes before the name of this file.
const std::string& source_root() {
  static const std::string root = [] {
    constexpr std::string_view kThisFile = "src/ir/call_site.cpp";
    for (const SourceLine& at : source_lines(reinterpret_cast<uintptr_t>(&source_lines) + 1)) {
      if (at.file.ends_with(kThisFile)) return at.file.substr(0, at.file.size() - kThisFile.size());
    }
    return std::string();
  }();
  return root;
}

std::string shown_path(const std::string& path) {
  std::string out = normal(path);
  std::error_code ignored;
  for (const std::string& root : {source_root(), fs::current_path(ignored).string() + "/"}) {
    if (!root.empty() && out.starts_with(root)) return out.substr(root.size());
  }
  while (out.starts_with("../")) out.erase(0, 3);
  return out;
}

}  // namespace axle
