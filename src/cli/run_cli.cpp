#include "cli/run_cli.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/console.h"
#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/process_start.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "cli/command_line.h"
#include "config/class_call.h"
#include "io/temporary_file.h"

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

int fail_internal(std::string_view what) {
  if (const auto call = failed_call()) {
    return fail(fmt::format("{}: the call of {} ended with an exception: {}; look for the mistake "
                            "in this class",
                            call->where, call->class_name, what),
                ExitCode::kUser);
  }
  return fail(fmt::format("{} (a bug of Axle)", what), ExitCode::kInternal);
}

int fail_internal(const std::exception& error) {
  return fail_internal(std::string("internal error: ") + error.what());
}

// Keeps memory for the message that memory has run out. What the failed work held may still be in
// use, or lie in pieces in which malloc finds no room at once.
class MemoryReserve {
 public:
  MemoryReserve()
      : begin_(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  void release() {
    if (begin_ != MAP_FAILED) ::munmap(begin_, kBytes);
    begin_ = MAP_FAILED;
  }
  ~MemoryReserve() { release(); }
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

 private:
  static constexpr size_t kBytes = size_t{4} << 20;  // malloc may take a huge page, 2 MiB
  void* begin_;
};

}  // namespace

int run_cli(int argc, char** argv) {
  prepare_process();
  const TemporaryFileCleanup end;  // until a verb handles the signals itself
  MemoryReserve reserve;
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
    reserve.release();
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
  }
}

}  // namespace axle
