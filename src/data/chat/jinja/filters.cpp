#include "data/chat/jinja/filters.h"

#include <fmt/format.h>

#include <map>

#include "base/text/text.h"

namespace axle::jinja {
namespace {

const std::map<std::string_view, FilterFunction>& all_filters() {
  static const std::map<std::string_view, FilterFunction> kFilters = [] {
    std::map<std::string_view, FilterFunction> out;
    for (const auto& rows :
         {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
      for (const FilterRow& row : rows) out.emplace(row.name, row.function);
    }
    return out;
  }();
  return kFilters;
}

}  // namespace

FilterFunction find_filter(std::string_view name) {
  const auto at = all_filters().find(name);
  return at == all_filters().end() ? nullptr : at->second;
}

std::string unknown_filter(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [one, function] : all_filters()) names.emplace_back(one);
  return fmt::format("expected a filter of chat templates, got '{}'{}", name, suggest(name, names));
}

}  // namespace axle::jinja
