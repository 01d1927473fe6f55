#include "modifiers/set_where.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/mistakes.h"
#include "config/register.h"

namespace axle {

SetWhere::SetWhere(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {
  if (cfg_.set.empty())
    throw ConfigError(
        "SetWhere.set: expected at least one field, got none; name it with its value");
}

std::vector<Rewrite> SetWhere::apply(ConfigRef root) const {
  return set_where(root, select_texts(cfg_.select, cfg_.at, cfg_.where, "SetWhere", "select"),
                   cfg_.set, fmt::format("SetWhere {}", cfg_.select));
}

std::vector<Rewrite> set_where(ConfigRef root, const Selector& select, const FieldTexts& fields,
                               std::string_view what) {
  std::vector<Rewrite> out = {{std::string(what), {}}};
  Mistakes mistakes;
  const int64_t count =
      for_each_match(root, select, [&](const std::string& path, const Slot& slot) {
        mistakes.attempt([&] {
          SetTexts done = set_texts(ConfigRef(slot), fields, path);
          RewriteReport& report = out.front().report;
          (done.fields.matched.empty() ? report.unchanged : report.matched).push_back(path);
          std::ranges::move(done.classes, std::back_inserter(out));
        });
      });
  mistakes.throw_any();
  if (count == 0) fail_no_match(root, select);
  return out;
}

AXLE_REGISTER(SetWhere)

}  // namespace axle
