// The filters of templates: {{ value | name(arguments) }}.
#pragma once

#include <string>
#include <string_view>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

using FilterFunction = Value (*)(Machine&, const Value&, const Arguments&);
struct FilterRow {
  std::string_view name;
  FilterFunction function;
};

/// Returns nullptr if there is no filter of this name.
FilterFunction find_filter(std::string_view name);
/// "expected a filter of chat templates, got 'x'; did you mean ..."
std::string unknown_filter(std::string_view name);

/// The rows of each family.
std::vector<FilterRow> text_filters();
std::vector<FilterRow> number_filters();
std::vector<FilterRow> sequence_filters();
std::vector<FilterRow> selection_filters();

/// Returns value[a][b] for the path "a.b"; numbers count elements. `fallback`, unless it is none,
/// stands for each part that is undefined.
Value attribute_path(Machine& machine, const Value& value, const Value& path,
                     const Value& fallback = {});

}  // namespace axle::jinja
