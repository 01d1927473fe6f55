#include "cli/run_cli.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/class_call.h"
#include "base/console.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/process_start.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "cli/command_line.h"
#include "io/file_lock.h"

namespace axle {
namespace {

// Shortens a message that may quote the user's text, even a whole file. Cuts words that are longer
// than any useful name or path, and very long lines. Lists of names stay whole.
std::string shortened(std::string_view message) {
  constexpr size_t kLongestWord = 400, kLongestLine = 20'000;
  std::string out;
  for (const std::string_view line : split(message, '\n')) {
    const size_t begin = out.size();
    for (const std::string_view word : split(line, ' ')) {
      if (out.size() > begin + kLongestLine) {
        out += "...";
        break;
      }
      out += word.size() > kLongestWord ? printable(word, kLongestWord) : std::string(word);
      out += ' ';
    }
    if (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out;
}

int fail(std::string message, ExitCode code) {
  if (message.starts_with(": ")) message = "''" + message;  // about an empty path
  std::fflush(stdout);                                      // text printed before must come first
  // Messages about the command name it already: "axle train: no such flag".
  const bool is_named = message.starts_with("axle ") || message.starts_with("axle:");
  // A reader that blocks must not delay the exit: a launcher waits for the exit code.
  constexpr std::chrono::seconds kPatience{10};
  write_with_timeout(STDERR_FILENO, (is_named ? "" : "axle: ") + shortened(message), kPatience);
  return static_cast<int>(code);
}

// `prefix`: what the message begins with if no class of the user's is to blame.
int fail_internal(std::string_view what, std::string_view prefix = {}) {
  if (const auto call = failed_call()) {
    return fail(fmt::format("{}: the call of {} ended with an exception: {}; look for the mistake "
                            "in this class",
                            call->where, call->class_name, what),
                ExitCode::kUser);
  }
  return fail(fmt::format("{}{} (a bug of Axle)", prefix, what), ExitCode::kInternal);
}

int fail_internal(const std::exception& error) {
  return fail_internal(error.what(), "internal error: ");
}

// Keeps memory for the time after the first failed allocation: destructors may need some on the way
// out (JSON's do), and the message does. What the failed work held may still be in use, or
// lie in pieces in which malloc finds no room at once.
class MemoryReserve {
 public:
  MemoryReserve() {
    void* const begin =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_ = begin == MAP_FAILED ? nullptr : begin;
    before_ = std::set_new_handler(give_up);
  }
  ~MemoryReserve() {
    std::set_new_handler(before_);
    release();
  }
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

 private:
  [[noreturn]] static void give_up() {
    release();
    throw std::bad_alloc();
  }
  static void release() {
    if (void* const begin = begin_.exchange(nullptr)) ::munmap(begin, kBytes);
  }
  static constexpr size_t kBytes = size_t{8} << 20;  // malloc may take huge pages, each of 2 MiB
  static inline std::atomic<void*> begin_ = nullptr;
  std::new_handler before_;
};

}  // namespace

int run_cli(int argc, char** argv) {
  prepare_process();
  const TemporaryFileCleanup end;  // until a verb handles the signals itself
  const MemoryReserve reserve;
  try {
    cli::Output out;
    const ExitCode code = cli::CommandLine(out).run(argc, argv);
    out.flush();
    return static_cast<int>(code);
  } catch (const InternalError& error) {
    return fail_internal(std::string_view(error.what()));
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return fail("host memory: expected enough for this command, got " + to_text(host_memory()) +
                    "; take a smaller model or batch, or less text",
                ExitCode::kDoesNotFit);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(error.path1().string() + ": " + error.code().message(), ExitCode::kStorage);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return fail_internal(error);
    return fail(
        "the host: expected to start one more thread, got a refusal; raise the limit of processes "
        "(ulimit -u, or that of the container)",
        ExitCode::kDevice);
  } catch (const std::exception& error) {
    return fail_internal(error);
  } catch (...) {  // a class of another project may throw anything
    return fail_internal("a value that is no std::exception was thrown", "internal error: ");
  }
}

}  // namespace axle
