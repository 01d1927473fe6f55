// Temporary files, which shall not stay where a signal ends the process.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>

namespace axle {

/// Names a file that is being written, while alive, to EndBySignal. Does nothing to it itself.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

 private:
  int slot_;
};

/// Signals that end a process and are sent to one on purpose: by a terminal, a shell, a scheduler
/// of jobs.
inline constexpr std::array kEndingSignals = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                              SIGUSR1, SIGUSR2, SIGXCPU};

/// While alive these signals end the process as they do by themselves, but remove all temporary
/// files first. Those that are ignored (nohup) stay so.
class EndBySignal {
 public:
  EndBySignal();
  ~EndBySignal();
  EndBySignal(const EndBySignal&) = delete;
  EndBySignal& operator=(const EndBySignal&) = delete;

 private:
  std::array<struct sigaction, kEndingSignals.size()> before_;
};

}  // namespace axle
