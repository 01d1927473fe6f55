// Gets the error of an op without the lines of the source that it names, for tests of the rest.
#pragma once

#include <regex>
#include <string>

#include "testing/error_of.h"

namespace axle {

/// Like error_of<E>, but "add at src/x.cpp:3" reads "add".
template <class E, class Fn>
std::string error_without_lines(Fn&& fn) {
  static const std::regex line(" at [^ ,;()]+:[0-9]+");
  return std::regex_replace(error_of<E>(fn), line, "");
}

}  // namespace axle
