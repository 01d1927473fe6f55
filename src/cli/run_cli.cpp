#include "cli/run_cli.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "cli/command_line.h"

namespace axle {
namespace {

int fail(const std::string& message, ExitCode code) {
  std::fflush(stdout);  // what was printed before comes before
  // What is wrong with the command names it already: "axle train: no such flag".
  const bool is_named = message.starts_with("axle ") || message.starts_with("axle:");
  std::fprintf(stderr, "%s%s\n", is_named ? "" : "axle: ", message.c_str());
  return static_cast<int>(code);
}

}  // namespace

int run_cli(int argc, char** argv) {
  try {
    cli::Output out;
    const ExitCode code = cli::CommandLine(out).run(argc, argv);
    out.flush();
    return static_cast<int>(code);
  } catch (const InternalError& error) {
    return fail(std::string(error.what()) + " (a bug of Axle)", error.code());
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory on the host", ExitCode::kInternal);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what() + " (a bug of Axle)",
                ExitCode::kInternal);
  }
}

}  // namespace axle
