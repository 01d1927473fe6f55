// The main function of the tests that train in other processes, and the code that those processes
// run.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "config/register.h"
#include "config/serialize.h"
#include "io/file.h"
#include "pjrt/abi/executable.h"
#include "pjrt/plugin/plugin.h"
#include "train/process/train_process_test.h"

namespace axle {

AXLE_REGISTER(Gate)

namespace {

void hold(std::string_view at) {
  fmt::print("at the gate of {}\n", at);
  std::fflush(stdout);
  char go = 0;
  if (::read(STDIN_FILENO, &go, 1) != 1) _exit(99);  // the test has ended
}

// The plugin's compile function, and a replacement that waits before it calls it.
using Call = pjrt::Error* (*)(void*);
Call g_compile = nullptr;
pjrt::Error* hold_and_compile(void* args) {
  static std::once_flag held;
  std::call_once(held, [] { hold("the compiler"); });
  return g_compile(args);
}

// True while no thread of the process has taken the signal. A process that has ended takes none.
bool is_pending(pid_t pid, int number) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  constexpr std::string_view kKey = "ShdPnd:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:\tZ")) return false;
    if (!line.starts_with(kKey)) continue;
    const uint64_t mask = std::stoull(line.substr(kKey.size()), nullptr, 16);
    return (mask >> (number - 1) & 1) != 0;
  }
  return false;
}

void hold_in_compiler() {
  auto& slot = const_cast<pjrt::Api&>(load_plugin("cpu").api()).slots[pjrt::ClientCompile::kSlot];
  g_compile = reinterpret_cast<Call>(slot);
  slot = reinterpret_cast<void*>(&hold_and_compile);
}

}  // namespace

Gate::Gate(const Config& cfg, const Dims&, const Scope&) : steps_(cfg.steps) {
  if (cfg.compiler) hold_in_compiler();
  hold_at(0);
}

void Gate::write(const StepRecord& record) {
  if (record.split.empty()) hold_at(record.step);
}

void Gate::hold_at(int64_t step) const {
  if (std::ranges::count(steps_, step)) hold(fmt::format("step {}", step));
}

int train_in_this_process(const std::vector<std::string>& arguments) {
  try {
    Trainer::Config config;
    from_yaml(config, read_file(arguments.at(0)));
    const RunOptions options{
        .dir = arguments.at(1), .backend = arguments.at(2), .compile_cache = arguments.at(3)};
    return static_cast<int>(Trainer(config, options).run());
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}

TrainProcess::TrainProcess(const Trainer::Config& config, const std::filesystem::path& dir,
                           const std::string& name, const std::string& backend) {
  const std::string file = (dir / (name + ".yaml")).string();
  replace_file(file, to_yaml(config));
  std::vector<std::string> arguments = {"test",  std::string(kTrainArgument),
                                        file,    (dir / name).string(),
                                        backend, (dir / "cache").string()};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int out[2], gate[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(gate, O_CLOEXEC) != 0)
    throw StorageError("pipe2 failed");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(gate[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(out[1], STDERR_FILENO);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(98);
  }
  ::close(out[1]);
  ::close(gate[0]);
  output_fd_ = out[0];
  gate_fd_ = gate[1];
}

TrainProcess::~TrainProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_output();
  ::close(gate_fd_);
}

bool TrainProcess::read_some() {
  char buffer[4096];
  const ssize_t n = ::read(output_fd_, buffer, sizeof(buffer));
  if (n > 0) output_.append(buffer, static_cast<size_t>(n));
  return n > 0;
}

bool TrainProcess::wait_for(std::string_view text) {
  size_t at;
  while ((at = output_.find(text, searched_)) == std::string::npos) {
    if (!read_some()) return false;
  }
  searched_ = at + text.size();
  return true;
}

bool TrainProcess::wait_at_gate(int64_t step) {
  return wait_for(fmt::format("at the gate of step {}\n", step));
}
bool TrainProcess::wait_at_compiler() { return wait_for("at the gate of the compiler\n"); }
void TrainProcess::open_gate() {
  if (::write(gate_fd_, "g", 1) != 1) throw StorageError("the gate is broken");
}
void TrainProcess::close_output() {
  if (output_fd_ >= 0) ::close(std::exchange(output_fd_, -1));
}
void TrainProcess::fill_output() {
  const int fd = ::open(fmt::format("/proc/self/fd/{}", output_fd_).c_str(),
                        O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) throw StorageError("the pipe cannot be opened");
  const std::string bytes(4096, '.');
  for (const size_t size : {bytes.size(), size_t{1}}) {
    while (::write(fd, bytes.data(), size) > 0) continue;
  }
  ::close(fd);
}
void TrainProcess::signal(int number) {
  ::kill(pid_, number);
  while (is_pending(pid_, number)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void TrainProcess::limit_files(int64_t bytes) {
  rlimit limit = {};
  ::prlimit(pid_, RLIMIT_FSIZE, nullptr, &limit);
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  ::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr);
}
void TrainProcess::unlimit_files() {
  rlimit limit = {};
  ::prlimit(pid_, RLIMIT_FSIZE, nullptr, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr);
}

int TrainProcess::end() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int TrainProcess::wait() {
  while (read_some()) continue;
  return end();
}

int TrainProcess::wait_unread() {
  pollfd ended{
      .fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), .events = POLLIN, .revents = 0};
  constexpr int kMinute = 60'000;
  if (::poll(&ended, 1, kMinute) != 1) {
    ADD_FAILURE() << "expected the end of the process, got none";
    signal(SIGKILL);
  }
  ::close(ended.fd);
  return end();
}

}  // namespace axle

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == axle::kTrainArgument)
    return axle::train_in_this_process({argv + 2, argv + argc});
  // Resets signals that are ignored here, such as SIGINT in a script's background job: child
  // processes would inherit that.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) std::signal(number, SIG_DFL);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
