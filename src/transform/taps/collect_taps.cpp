#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "ops/annotate.h"
#include "transform/taps/observe.h"
#include "transform/taps/taps.h"
#include "transform/trace.h"

namespace axle {
namespace {

bool is_wanted(const OpNode& op, Collect which) {
  const TapAttributes* tap = tap_of(op);
  return tap && (which == Collect::kAll || !tap->format.empty());
}

std::string value_text(const HostTensor& value) {
  if (value.shape().empty() && !is_complex(value.dtype())) {
    return is_float(value.dtype()) ? fmt::format("{:.6g}", value.at(0)) : value.element(0).text();
  }
  return value.text();
}

}  // namespace

Tapped collect_taps(const Region& region, Collect which) {
  // The tap of each value that the observer returned, by the path of its region.
  std::vector<std::pair<RegionPath, std::vector<const OpNode*>>> taps_of;
  const Observed observed =
      observe(region, [&](const RegionPath& path, const Region& inner, const Copies& copies) {
        Values out;
        std::vector<const OpNode*> taps;
        for (const OpNode* op : inner.ops()) {
          if (!is_wanted(*op, which)) continue;
          for (const Tensor& t : op->inputs) {
            out.push_back(copies.at(t));
            taps.push_back(op);
          }
        }
        taps_of.emplace_back(path, std::move(taps));
        return out;
      });
  Tapped out{.region = without_effects(observed.region)};
  std::map<std::string, int> count;
  const OpNode* last = nullptr;
  size_t next_input = 0;
  for (const Observation& found : observed.observations) {
    const auto of_path =
        std::ranges::find(taps_of, found.path, [](const auto& p) { return p.first; });
    const OpNode* op = of_path->second[found.index];
    if (op != last || next_input == op->inputs.size()) {
      const TapAttributes& tap = *tap_of(*op);
      CollectedTap collected{.scope = op->scope ? *op->scope : "", .format = tap.format};
      collected.name = collected.scope.empty() ? tap.name : collected.scope + "/" + tap.name;
      const int number = ++count[collected.name];
      if (number > 1) collected.name += fmt::format("#{}", number);
      for (const RegionStep& step : found.path)
        collected.num_leading_dims += trips_of(step).repeats == Repeats::kOnce ? 0 : 1;
      collected.ran = found.ran;
      out.taps.push_back(std::move(collected));
      last = op;
      next_input = 0;
    }
    out.taps.back().results.push_back(found.result);
    ++next_input;
  }
  return out;
}

std::vector<std::string> printed_lines(const CollectedTap& print,
                                       const std::vector<HostTensor>& results) {
  const auto split_dims = [&](const HostTensor& t) {
    const std::span dims(t.shape());
    const auto leading = dims.first(print.num_leading_dims);
    const auto own = dims.subspan(print.num_leading_dims);
    return std::pair(Shape(leading.begin(), leading.end()), Shape(own.begin(), own.end()));
  };
  const Shape leading = split_dims(results[print.results.at(0)]).first;
  std::vector<std::string> lines;
  for (int64_t i = 0; i < num_elements(leading); ++i) {
    if (print.ran && results[*print.ran].at(i) == 0) continue;
    std::vector<std::string> texts;
    for (const size_t r : print.results)
      texts.push_back(value_text(part_of(results[r], i, split_dims(results[r]).second)));
    std::string where = print.scope;
    int64_t inner = num_elements(leading);
    for (const int64_t size : leading) {
      inner /= size;
      where += fmt::format("[{}]", i / inner % size);
    }
    lines.push_back(
        fmt::format("{}{}{}", where, where.empty() ? "" : ": ", formatted(print.format, texts)));
  }
  return lines;
}

}  // namespace axle
