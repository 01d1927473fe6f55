#include "train/stop_signal.h"

#include <unistd.h>

#include <csignal>

namespace axle {
namespace {

volatile std::sig_atomic_t g_signal = 0;

extern "C" void on_signal(int signal) {
  if (g_signal == SIGINT && signal == SIGINT)
    _exit(static_cast<int>(ExitCode::kInterruptedAndSaved));
  g_signal = signal;
}

}  // namespace

struct StopSignal::Saved {
  struct sigaction interrupt, terminate;
};

StopSignal::StopSignal() : saved_(new Saved) {
  g_signal = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &saved_->interrupt);
  sigaction(SIGTERM, &action, &saved_->terminate);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &saved_->interrupt, nullptr);
  sigaction(SIGTERM, &saved_->terminate, nullptr);
  delete saved_;
}

ExitCode StopSignal::requested() const {
  switch (g_signal) {
    case SIGINT:
      return ExitCode::kInterruptedAndSaved;
    case SIGTERM:
      return ExitCode::kTerminatedAndSaved;
    default:
      return ExitCode::kOk;
  }
}

}  // namespace axle
