#include "cli/exit_codes.h"

#include <fmt/format.h>

#include "base/exit_code.h"

namespace axle::cli {
namespace {

struct Row {
  ExitCode code;
  const char* meaning;
};

constexpr Row kRows[] = {
    {ExitCode::kOk, "done"},
    {ExitCode::kInternal, "a bug of Axle"},
    {ExitCode::kUser,
     "a mistake in the command, the config or the recipe; a retry gives the same result"},
    {ExitCode::kData,
     "input data missing, unreadable or malformed; or data build found others where it writes"},
    {ExitCode::kStorage,
     "a disk or object store failed, a checkpoint is damaged, or another process holds the folder"},
    {ExitCode::kDevice, "a plugin or device is missing or failed"},
    {ExitCode::kDoesNotFit, "the program needs more memory than the machine has"},
    {ExitCode::kDoesNotCompile, "the device's compiler refused the program"},
    {ExitCode::kRerunElsewhere, "reserved for launchers: rerun elsewhere"},
    {ExitCode::kValidationFailed,
     "numbers of a step or of a model were not finite, or results differ from their reference"},
    {ExitCode::kHang, "reserved for launchers: hang"},
    {ExitCode::kTerminatedAndSaved,
     "SIGTERM, SIGHUP, SIGUSR1 or SIGXCPU: stopped; all steps are saved"},
    {ExitCode::kInterruptedAndSaved, "Ctrl-C: stopped; all steps are saved"},
};

}  // namespace

std::string exit_code_text() {
  std::string out = "Exit codes:\n";
  for (const Row& row : kRows)
    out += fmt::format("  {:>3}  {}\n", static_cast<int>(row.code), row.meaning);
  return out;
}

}  // namespace axle::cli
