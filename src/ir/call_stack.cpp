#include "ir/call_stack.h"

#include <filesystem>
#include <mutex>
#include <string_view>

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
    constexpr std::string_view kThisFile = "src/ir/call_stack.cpp";
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
