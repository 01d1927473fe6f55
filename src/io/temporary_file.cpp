#include "io/temporary_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace axle {
namespace {

enum State { kFree, kFilling, kNamed };

// Of fixed size, since a signal handler may neither allocate nor wait.
struct Slot {
  std::atomic<int> state = kFree;
  char path[PATH_MAX] = {};
};
std::array<Slot, 16> g_slots;
constexpr int kNoSlot = -1;

extern "C" void remove_temporaries(int signal) {
  const int error = errno;
  for (const Slot& slot : g_slots) {
    if (slot.state.load() == kNamed) ::unlink(slot.path);
  }
  errno = error;
  ::raise(signal);  // delivered after we return, with the default action
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& path) : slot_(kNoSlot) {
  const std::string& name = path.native();
  if (name.size() >= PATH_MAX) return;  // such a file cannot be created either
  for (size_t i = 0; i < g_slots.size(); ++i) {
    int free = kFree;
    if (!g_slots[i].state.compare_exchange_strong(free, kFilling)) continue;
    std::memcpy(g_slots[i].path, name.c_str(), name.size() + 1);
    g_slots[i].state = kNamed;
    slot_ = static_cast<int>(i);
    return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (slot_ != kNoSlot) g_slots[static_cast<size_t>(slot_)].state = kFree;
}

namespace {

auto ending_handlers() {
  std::array<SignalHandler, kTerminationSignals.size()> out;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = {kTerminationSignals[i], remove_temporaries, static_cast<int>(SA_RESETHAND)};
  return out;
}

}  // namespace

TemporaryFileCleanup::TemporaryFileCleanup() : handlers_(ending_handlers()) {}

}  // namespace axle
