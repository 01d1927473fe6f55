#include "base/signal_handlers.h"

namespace axle {

SignalHandlers::SignalHandlers(std::span<const SignalHandler> handlers) {
  for (const auto& [signal, handler, flags] : handlers) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
    before_.emplace_back(signal, before);
  }
}

SignalHandlers::~SignalHandlers() {
  for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
}

}  // namespace axle
