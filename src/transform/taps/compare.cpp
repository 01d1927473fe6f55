#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/eval.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

constexpr ObserveOptions kOptions{.while_iterations = 256};

using Pair = std::pair<const OpNode*, const OpNode*>;

// The same region in both programs, and the run of it that is looked at: an index for each of the
// leading dims except the one of the last step.
struct Level {
  RegionPath a, b;
  std::vector<int64_t> at;
};

const Region& region_at(const Region& program, const RegionPath& path) {
  return path.empty() ? program : path.back().op->region(path.back().region);
}

std::string layer_of(const OpNode& op) { return op.scope ? *op.scope : "the top level"; }

std::string kind_of(const OpNode& op) {
  std::vector<std::string> dims;
  for (const Type& type : op.outputs)
    dims.push_back(fmt::format("[{}]", fmt::join(type.dims, ", ")));
  return fmt::format("{} of {} in {}", op.rules->name(), fmt::join(dims, ", "), layer_of(op));
}

// Returns the corresponding ops of two regions, in the order of both.
std::vector<Pair> matched(const Region& a, const Region& b, std::vector<std::string>& unmatched) {
  std::map<std::string, std::pair<std::vector<const OpNode*>, std::vector<const OpNode*>>> kinds;
  for (const OpNode* op : a.ops()) kinds[kind_of(*op)].first.push_back(op);
  for (const OpNode* op : b.ops()) kinds[kind_of(*op)].second.push_back(op);
  std::vector<Pair> pairs;
  for (const auto& [kind, ops] : kinds) {
    if (ops.first.size() != ops.second.size()) {
      unmatched.push_back(
          fmt::format("{}: {} in a, {} in b", kind, ops.first.size(), ops.second.size()));
      continue;
    }
    for (size_t i = 0; i < ops.first.size(); ++i) pairs.emplace_back(ops.first[i], ops.second[i]);
  }
  std::ranges::sort(pairs, {}, [](const Pair& p) { return p.first->id; });
  return pairs;
}

// Complex numbers become pairs of real ones.
Tensor comparable(const Tensor& t) {
  if (!is_complex(t.dtype())) return t;
  return concatenate({expand_dims(real(t), t.rank()), expand_dims(imag(t), t.rank())}, t.rank());
}

// Returns values of the region at `path`.
std::vector<HostTensor> fetch(const ComparedProgram& program, const RegionPath& path,
                              const Values& values) {
  if (values.empty()) return {};
  const Observed observed = observe(
      program.region,
      [&](const RegionPath& at, const Region&, const Copies& copies) {
        Values out;
        if (at != path) return out;
        for (const Tensor& t : values) out.push_back(comparable(copies.at(t)));
        return out;
      },
      kOptions);
  return observed_values(observed, program.run);
}

size_t num_leading_dims(const RegionPath& path) {
  return static_cast<size_t>(std::ranges::count_if(
      path, [](const RegionStep& step) { return trips_of(step).repeats != Repeats::kOnce; }));
}

// The part of a fetched value that one run of its region computed.
HostTensor at_run(const HostTensor& value, const RegionPath& path, std::span<const int64_t> at) {
  const size_t leading = num_leading_dims(path);
  int64_t row = 0;
  for (size_t i = 0; i < leading; ++i) row = row * value.shape()[i] + at[i];
  const auto own = std::span(value.shape()).subspan(leading);
  return part_of(value, row, Shape(own.begin(), own.end()));
}

double distance(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  return std::isfinite(x) && std::isfinite(y) ? std::abs(x - y)
                                              : std::numeric_limits<double>::infinity();
}

// Returns the largest difference of two values and its index, or none if they agree.
std::optional<std::pair<double, int64_t>> difference(const HostTensor& a, const HostTensor& b,
                                                     double tolerance) {
  double largest = 0, magnitude = 0;
  int64_t index = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i), d = distance(x, y);
    for (const double v : {x, y}) {
      if (std::isfinite(v)) magnitude = std::max(magnitude, std::abs(v));
    }
    if (d > largest) {
      largest = d;
      index = i;
    }
  }
  const double allowed = is_float(a.dtype()) ? tolerance * magnitude : 0;
  if (largest <= allowed) return std::nullopt;
  return std::pair(largest, index);
}

Shape position_of(int64_t index, const Shape& dims) {
  Shape out(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = index % dims[i];
    index /= dims[i];
  }
  return out;
}

class Comparer {
 public:
  Comparer(const ComparedProgram& a, const ComparedProgram& b, const CompareOptions& options)
      : a_(a), b_(b), options_(options) {}

  Comparison run() {
    Comparison out;
    out.first = search({}, out.unmatched);
    return out;
  }

 private:
  // A pair of ops that differ in one run of their region.
  struct Found {
    Pair ops;
    size_t result = 0;
    std::vector<int64_t> at;
    HostTensor a, b;
    double largest = 0;
    int64_t index = 0;
  };

  std::optional<Difference> search(const Level& level, std::vector<std::string>& unmatched) {
    const auto found = first_difference(level, unmatched);
    if (!found) return std::nullopt;
    const auto [op_a, op_b] = found->ops;
    for (size_t r = 0; r < std::min(op_a->regions.size(), op_b->regions.size()); ++r) {
      Level inner{level.a, level.b, found->at};
      inner.a.push_back({op_a, r});
      inner.b.push_back({op_b, r});
      if (auto inside = search(inner, unmatched)) return inside;
    }
    return describe_difference(level, *found);
  }

  // Looks at the iterations of the last step in the order in which they run.
  std::optional<Found> first_difference(const Level& level, std::vector<std::string>& unmatched) {
    const std::vector<Pair> pairs =
        matched(region_at(a_.region, level.a), region_at(b_.region, level.b), unmatched);
    std::optional<Found> first;
    int64_t num_earlier = std::numeric_limits<int64_t>::max();  // runs that may come before `first`
    for (size_t next = 0; next < pairs.size() && num_earlier > 0;) {
      Values of_a, of_b;
      std::vector<Pair> owners;
      int64_t bytes = 0;
      while (next < pairs.size() && (of_a.empty() || bytes < options_.max_bytes)) {
        const auto [x, y] = pairs[next++];
        for (uint32_t r = 0; r < x->outputs.size(); ++r) {
          of_a.emplace_back(x, r);
          of_b.emplace_back(y, r);
          owners.emplace_back(x, y);
          bytes += static_cast<int64_t>(x->outputs[r].num_bytes()) * total_runs(level.a);
        }
      }
      const auto values_a = fetch(a_, level.a, of_a), values_b = fetch(b_, level.b, of_b);
      if (values_a.empty() || values_a.size() != values_b.size()) continue;  // not observed
      for (size_t i = 0; i < values_a.size() && num_earlier > 0; ++i) {
        for (int64_t run = 0; run < std::min(num_earlier, num_runs(level, values_a[i])); ++run) {
          std::vector<int64_t> at = level.at;
          if (repeats_last(level)) at.push_back(index_of(level, run));
          HostTensor x = at_run(values_a[i], level.a, at), y = at_run(values_b[i], level.b, at);
          const auto d = difference(x, y, options_.tolerance);
          if (!d) continue;
          first = Found{owners[i],    of_a[i].index(), std::move(at), std::move(x),
                        std::move(y), d->first,        d->second};
          num_earlier = run;
          break;
        }
      }
    }
    return first;
  }

  static bool repeats_last(const Level& level) {
    return !level.a.empty() && trips_of(level.a.back()).repeats != Repeats::kOnce;
  }
  static int64_t num_runs(const Level& level, const HostTensor& value) {
    return repeats_last(level) ? value.shape()[level.at.size()] : 1;
  }
  static int64_t total_runs(const RegionPath& path) {
    int64_t trips = 1;
    for (const RegionStep& step : path) {
      const RegionTrips own = trips_of(step);
      if (own.repeats != Repeats::kOnce) trips *= own.count.value_or(kOptions.while_iterations);
    }
    return trips;
  }
  // Returns the index of the iteration that runs at place `run`.
  static int64_t index_of(const Level& level, int64_t run) {
    const RegionTrips trips = trips_of(level.a.back());
    return trips.is_reversed ? *trips.count - 1 - run : run;
  }

  static std::vector<OperandStatistics> operands(const ComparedProgram& program,
                                                 const RegionPath& path, const OpNode& op,
                                                 const std::vector<int64_t>& at) {
    const auto values = fetch(program, path, op.inputs);
    std::vector<OperandStatistics> out;
    for (size_t i = 0; i < values.size(); ++i)
      out.push_back({describe(op.inputs[i]), statistics_of(at_run(values[i], path, at))});
    return out;
  }

  Difference describe_difference(const Level& level, const Found& found) const {
    const OpNode& op = *found.ops.first;
    return {.op = std::string(op.rules->name()),
            .scope = layer_of(op),
            .iterations = found.at,
            .result = found.result,
            .largest = found.largest,
            .position = position_of(found.index, found.a.shape()),
            .a = found.a.at(found.index),
            .b = found.b.at(found.index),
            .operands_a = operands(a_, level.a, op, found.at),
            .operands_b = operands(b_, level.b, *found.ops.second, found.at),
            .result_a = statistics_of(found.a),
            .result_b = statistics_of(found.b)};
  }

  const ComparedProgram& a_;
  const ComparedProgram& b_;
  const CompareOptions& options_;
};

}  // namespace

RunRegion interpreted(std::vector<HostTensor> arguments, const EvalOptions& options) {
  return [arguments = std::move(arguments), options](const std::shared_ptr<const Region>& region) {
    return evaluate(*region, arguments, options);
  };
}

std::string to_text(const Comparison& comparison) {
  std::string out = "all values agree";
  if (const auto& d = comparison.first) {
    out = fmt::format("the first difference is made by {} in {}", d->op, d->scope);
    if (!d->iterations.empty())
      out += fmt::format(", iteration {}", fmt::join(d->iterations, ", then "));
    out += fmt::format("\n  result {}: {:.9g} and {:.9g} at [{}]", d->result, d->a, d->b,
                       fmt::join(d->position, ", "));
    const auto side = [&](std::string_view name, const auto& operands, const Statistics& result) {
      for (size_t i = 0; i < operands.size(); ++i) {
        out += fmt::format("\n  {}, operand {}, {}: {}", name, i, operands[i].what,
                           to_text(operands[i].statistics));
      }
      out += fmt::format("\n  {}, result: {}", name, to_text(result));
    };
    side("a", d->operands_a, d->result_a);
    side("b", d->operands_b, d->result_b);
  }
  for (const std::string& line : comparison.unmatched) out += "\nnot compared: " + line;
  return out;
}

Comparison compare(const ComparedProgram& a, const ComparedProgram& b,
                   const CompareOptions& options) {
  return Comparer(a, b, options).run();
}

}  // namespace axle
