// Options whose value is one of the texts of an enum.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/text/enum_text.h"

namespace axle::cli {

/// Adds an option that stores the value of its text in `to`, an enum with texts or an optional one.
/// Other texts are an error that names those of the enum.
template <EnumWithTexts E, class To>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, To& to, const std::string& help) {
  std::set<std::string> texts;
  for (const auto& row : texts_of(E{})) texts.emplace(row.text);
  const auto take = [&to](const std::string& text) {
    E value{};
    from_text(text, value);
    to = value;
  };
  return app.add_option_function<std::string>(flag, take, help)->check(CLI::IsMember(texts));
}
template <EnumWithTexts E>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, E& to, const std::string& help) {
  return add_enum<E, E>(app, flag, to, help);
}
template <EnumWithTexts E>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, std::optional<E>& to,
                      const std::string& help) {
  return add_enum<E, std::optional<E>>(app, flag, to, help);
}

}  // namespace axle::cli
