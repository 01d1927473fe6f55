// How work that goes on tells of what went wrong.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace axle {

/// Takes one line for the user; maybe called from another thread than the caller's.
using Report = std::function<void(const std::string& line)>;

/// Says nothing where standard error takes nothing: a full disk behind it must stop no training.
inline void report_to_stderr(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

}  // namespace axle
