// Parses words as the flags of one verb.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace axle::cli {

/// Parses `words` with the options that `add` declares. Throws what CLI11 and they throw.
inline void parse(const std::function<void(CLI::App&)>& add, std::vector<std::string> words) {
  CLI::App app;
  add(app);
  std::ranges::reverse(words);  // CLI11 takes the words from the back
  app.parse(std::move(words));
}

/// Returns the message of what parse() throws; "no error" if it throws nothing.
inline std::string parse_error(const std::function<void(CLI::App&)>& add,
                               const std::vector<std::string>& words) {
  try {
    parse(add, words);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

/// Returns the arguments parsed from the words.
template <class Arguments>
Arguments parsed(const std::vector<std::string>& words) {
  Arguments out;
  parse([&](CLI::App& app) { out.add_to(app); }, words);
  return out;
}

}  // namespace axle::cli
