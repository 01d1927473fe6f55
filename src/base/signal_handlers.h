// Handlers of signals, as long as an object lives.
#pragma once

#include <csignal>
#include <span>
#include <utility>
#include <vector>

namespace axle {

/// One signal, its handler, and flags of sigaction(2).
struct SignalHandler {
  int signal;
  void (*handler)(int);
  int flags = SA_RESTART;
};

/// Installs handlers and puts the earlier ones back at its end. A signal that was ignored stays
/// ignored: SIGHUP under nohup, SIGINT in a background job of a script.
class SignalHandlers {
 public:
  explicit SignalHandlers(std::span<const SignalHandler> handlers);
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace axle
