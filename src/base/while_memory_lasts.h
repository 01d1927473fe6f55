// Work that is given up where the host has no memory for it.
#pragma once

#include <new>
#include <utility>

namespace axle {

/// Calls `f`. Where memory runs out, the rest of `f` is left undone and nobody is told: for
/// destructors and threads, which may not throw, and for reports of a failure under way.
template <class F>
void while_memory_lasts(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace axle
