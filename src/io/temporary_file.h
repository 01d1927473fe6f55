// Temporary files that are removed if a signal ends the process.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>

#include "base/signal_handlers.h"

namespace axle {

/// While alive, registers the path of a file being written, so that TemporaryFileCleanup can remove
/// it. Does not touch the file itself.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

 private:
  int slot_;
};

/// Signals that end a process and that a terminal, a shell or a job scheduler sends on purpose.
inline constexpr std::array kTerminationSignals = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                                   SIGUSR1, SIGUSR2, SIGXCPU};

/// While alive, these signals first remove all registered temporary files, then end the process as
/// usual. Ignored signals (nohup) stay ignored.
class TemporaryFileCleanup {
 public:
  TemporaryFileCleanup();

 private:
  SignalHandlers handlers_;
};

}  // namespace axle
