#include "base/report.h"

#include <unistd.h>

#include "base/console.h"

namespace axle {

void report_to_stderr(const std::string& line) {
  static Console console(STDERR_FILENO, std::chrono::seconds(1));
  console.write(with_coloured_warnings(line + "\n", STDERR_FILENO));
}

}  // namespace axle
