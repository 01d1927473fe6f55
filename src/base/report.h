// How work that goes on tells of what went wrong.
#pragma once

#include <functional>
#include <string>

namespace axle {

/// Takes one line for the user; maybe called from another thread than the caller's.
using Report = std::function<void(const std::string& line)>;

/// Says nothing where standard error takes nothing, for a second at most: neither a full disk
/// behind it nor a reader that stands still may stop a training.
void report_to_stderr(const std::string& line);

}  // namespace axle
