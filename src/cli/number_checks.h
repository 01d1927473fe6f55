// Checks of the numbers that options hold, for CLI11's check(): "" or what is wrong with the text,
// in one line. Without one CLI11 rounds a number that is too large to the nearest that fits.
#pragma once

#include <string>

#include "base/error.h"
#include "config/codec.h"

namespace axle::cli {

/// A number of type T, as the fields of a config read it.
template <class T>
std::string check_number(const std::string& text) {
  try {
    Codec<T>::parse(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

/// A number of devices that one process can have.
std::string check_device_count(const std::string& text);

}  // namespace axle::cli
