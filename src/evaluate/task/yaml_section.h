// A mapping of a YAML file, whose keys are taken one by one. What nobody took is an error.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace axle {

class YamlSection {
 public:
  using Json = nlohmann::ordered_json;
  /// `where` stands for the mapping in messages, "task.yaml: metric_list[0]"; `what` is what has
  /// its keys, "a metric". Throws ConfigError for another value.
  YamlSection(Json value, std::string where, std::string what);

  /// Returns the value of a key; none if the key is not there or null.
  std::optional<Json> take(std::string_view key);
  std::optional<std::string> take_text(std::string_view key);
  /// A text, or a list of texts.
  std::vector<std::string> take_texts(std::string_view key);
  std::optional<int64_t> take_integer(std::string_view key, int64_t least);
  bool take_flag(std::string_view key, bool fallback);
  /// Drops keys that change no result.
  void ignore(std::initializer_list<std::string_view> keys);
  /// Throws ConfigError naming the keys that nobody took.
  void check_all_taken() const;

  std::string place(std::string_view key) const;
  /// Throws ConfigError "<where>: <key>: <message>".
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  /// Calls fn() and puts the place of the key before a ConfigError.
  template <class Fn>
  auto at(std::string_view key, Fn&& fn) const {
    try {
      return fn();
    } catch (const ConfigError& error) {
      fail(key, error.what());
    }
  }

 private:
  Json value_;
  std::string where_, what_;
  std::vector<std::string> known_;
};

}  // namespace axle
