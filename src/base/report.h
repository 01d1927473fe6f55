// How a long-running job reports a problem without stopping.
#pragma once

#include <functional>
#include <string>

namespace axle {

/// Takes one line for the user. May be called from another thread.
using Report = std::function<void(const std::string& line)>;

/// Writes the line to standard error, waiting at most one second, and drops it if standard error
/// accepts no data. Neither a full disk nor a stopped reader may stop a training run.
void report_to_stderr(const std::string& line);

}  // namespace axle
