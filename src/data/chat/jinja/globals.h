// The functions that every template may call, and the tests: {% if value is name(arguments) %}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

/// Values with fields that may be set: what namespace() returns.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::string repr(Machine& machine) const override;
  std::optional<Value> attribute(std::string_view name) override;
  void set(std::string_view name, Value value);
  void clear() override { fields_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

/// range, dict, namespace, cycler, joiner, and those that chat templates are promised:
/// raise_exception and strftime_now. The latter reads the clock unless `now_secs` (Unix time) is
/// given.
std::vector<std::pair<std::string, Value>> global_functions(std::optional<int64_t> now_secs);

using TestFunction = bool (*)(Machine&, const Value&, const Arguments&);

/// Returns nullptr if there is no test of this name.
TestFunction find_test(std::string_view name);
/// "expected a test of chat templates, got 'x'; did you mean ..."
std::string unknown_test(std::string_view name);

}  // namespace axle::jinja
