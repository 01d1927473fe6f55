#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/bodies.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

using Mark = int32_t;
constexpr Mark kFinite = 0, kInf = 1, kNaN = 2;

constexpr ObserveOptions kNonFiniteOptions{.while_iterations = 256};

// All values of a region, in the order of their marks.
Values values_of(const Region& region) {
  Values out = region.parameters();
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->results()) out.push_back(t);
  }
  return out;
}

Tensor mark_of(const Tensor& x) {
  if (!is_differentiable(x.dtype())) return full({1}, kFinite, DType::kI32);
  // A compiler would compute the maximum of all its elements.
  if (const auto splat = splat_of(x); splat && !is_complex(x.dtype())) {
    const auto number = splat->as<double>();
    return full({1},
                std::isfinite(number) ? kFinite
                : std::isnan(number)  ? kNaN
                                      : kInf,
                DType::kI32);
  }
  const Tensor y = is_complex(x.dtype()) ? abs(x) : x;
  const Tensor none = full(y.shape(), kFinite, DType::kI32);
  const Tensor each = select(is_finite(y), none, select(is_nan(y), full_like(none, kNaN), kInf));
  return reshape(y.type().num_elements() == 0 ? full({}, kFinite, DType::kI32)
                                              : reduce_max(each, all_axes(each)),
                 {1});
}

// Returns the number of the first element that is not finite, in row-major order. Without a
// reshape, so that no device needs all of a sharded tensor.
Tensor first_non_finite(const Tensor& x) {
  const Tensor y = is_complex(x.dtype()) ? abs(x) : x;
  const int64_t n = y.type().num_elements();
  const DType dtype = n > std::numeric_limits<int32_t>::max() ? DType::kI64 : DType::kI32;
  Tensor number = full(y.shape(), 0, dtype);
  int64_t stride = 1;
  for (int64_t axis = y.rank() - 1; axis >= 0; --axis) {
    number = number + iota(y.shape(), axis, dtype) * static_cast<double>(stride);
    stride *= y.dim(axis);
  }
  const Tensor none = full_like(number, static_cast<double>(n));
  return reduce_min(select(is_finite(y), none, number), all_axes(y));
}

std::vector<int64_t> index_of(int64_t number, const Shape& dims) {
  std::vector<int64_t> out(dims.size());
  for (size_t i = dims.size(); i-- > 0; number /= dims[i]) out[i] = number % dims[i];
  return out;
}

// One run of a region: for each op of its path, the index of the iteration. kAnyDevice stands for
// all devices of a shard_map.
constexpr int64_t kAnyDevice = -1;
struct Place {
  RegionPath path;
  std::vector<int64_t> at;
  const Region* region = nullptr;

  Place outer(const Region& program) const {
    Place out = *this;
    out.path.pop_back();
    out.at.pop_back();
    out.region = out.path.empty() ? &program : &out.path.back().op->region(out.path.back().region);
    return out;
  }
  Place inner(const OpNode& op, size_t index, int64_t iteration) const {
    Place out = *this;
    out.path.push_back({&op, index});
    out.at.push_back(iteration);
    out.region = &op.region(index);
    return out;
  }
};

// Returns the indices of the elements of a result that belong to a place: one, or one for each
// device.
std::vector<int64_t> rows_of(const Place& place, const Shape& dims) {
  std::vector<int64_t> rows{0};
  size_t dim = 0;
  for (size_t i = 0; i < place.path.size(); ++i) {
    if (trips_of(place.path[i]).repeats == Repeats::kOnce) continue;
    const int64_t size = dims[dim++];
    std::vector<int64_t> next;
    for (const int64_t row : rows) {
      if (place.at[i] != kAnyDevice) {
        next.push_back(row * size + place.at[i]);
        continue;
      }
      for (int64_t device = 0; device < size; ++device) next.push_back(row * size + device);
    }
    rows = std::move(next);
  }
  return rows;
}

// Returns the device that a row belongs to: its place along the axes of each shard_map around it.
std::string device_of(const Place& place, const Shape& dims, int64_t row) {
  std::vector<RegionTrips> repeated;
  Shape sizes;
  for (const RegionStep& step : place.path) {
    RegionTrips trips = trips_of(step);
    if (trips.repeats == Repeats::kOnce) continue;
    sizes.push_back(dims[sizes.size()]);
    repeated.push_back(std::move(trips));
  }
  const std::vector<int64_t> at = index_of(row, sizes);
  std::vector<std::string> out;
  for (size_t d = 0; d < repeated.size(); ++d) {
    Shape mesh;
    for (const MeshAxis& axis : repeated[d].axes) mesh.push_back(axis.size);
    const std::vector<int64_t> along = index_of(at[d], mesh);
    for (size_t i = 0; i < mesh.size(); ++i)
      out.push_back(fmt::format("{}={}", repeated[d].axes[i].name, along[i]));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

// True if the result of an op has the elements of its operand, and no others.
bool moves_all(const OpNode& op) {
  if (!op.rules->row().traits.cheap || op.inputs.size() != 1 || op.outputs.size() != 1)
    return false;
  const Type &from = op.inputs[0].type(), &to = op.outputs[0];
  return from.dtype == to.dtype && from.num_elements() > 0 &&
         to.num_elements() >= from.num_elements();
}

// Returns the marks of the values of a region, but for those that `is_wanted` refuses: these count
// as finite.
Values marks_of(const Region& region, const Copies& copies,
                const std::function<bool(const Tensor&)>& is_wanted) {
  Values out;
  std::map<std::pair<const OpNode*, uint32_t>, Tensor> known;
  for (const Tensor& t : values_of(region)) {
    const OpNode& op = *t.node();
    if (!is_wanted(t))
      out.push_back(full({1}, kFinite, DType::kI32));
    else if (!t.is_parameter() && moves_all(op))
      out.push_back(known.at({op.inputs[0].node(), op.inputs[0].index()}));
    else
      out.push_back(mark_of(copies.at(t)));
    known.emplace(std::pair(&op, t.index()), out.back());
  }
  return out;
}

// The ops and parameters that values come from.
std::set<const OpNode*> sources_of(const Values& values) {
  std::set<const OpNode*> out;
  Values pending = values;
  while (!pending.empty()) {
    const Tensor t = pending.back();
    pending.pop_back();
    if (!out.insert(t.node()).second || t.is_parameter()) continue;
    pending.insert(pending.end(), t.node()->inputs.begin(), t.node()->inputs.end());
  }
  return out;
}

// The marks of all values that `roots` come from.
class FiniteMarks {
 public:
  FiniteMarks(const Region& program, const RunRegion& run, const Values& roots) {
    const std::set<const OpNode*> sources = sources_of(roots);
    const Observed observed = observe(
        program,
        [&](const RegionPath& path, const Region& region, const Copies& copies) {
          if (!path.empty() && !sources.contains(path[0].op)) return Values{};
          const Values marks = marks_of(region, copies, [&](const Tensor& t) {
            return !path.empty() || sources.contains(t.node());
          });
          return marks.empty() ? Values{} : Values{concatenate(marks, 0)};
        },
        kNonFiniteOptions);
    const std::vector<HostTensor> results = observed_values(observed, run);
    for (size_t i = 0; i < results.size(); ++i) {
      const RegionPath& path = observed.observations[i].path;
      paths_.push_back(path);
      marks_.push_back(results[i]);
    }
  }

  bool knows(const RegionPath& path) const { return std::ranges::count(paths_, path) > 0; }

  Mark at(const Place& place, const Tensor& value) {
    const auto found = std::ranges::find(paths_, place.path) - paths_.begin();
    const HostTensor& marks = marks_[static_cast<size_t>(found)];
    const int64_t n = marks.shape().back();
    Mark most = kFinite;
    for (const int64_t row : rows_of(place, marks.shape()))
      most = std::max(
          most, marks.values<Mark>()[static_cast<size_t>(row * n + number(*place.region, value))]);
    return most;
  }

 private:
  int64_t number(const Region& region, const Tensor& value) {
    auto& numbers = numbers_[&region];
    if (numbers.empty()) {
      for (const Tensor& t : values_of(region))
        numbers.emplace(std::pair(t.node(), t.index()), static_cast<int64_t>(numbers.size()));
    }
    return numbers.at({value.node(), value.index()});
  }

  std::vector<RegionPath> paths_;
  std::vector<HostTensor> marks_;
  std::map<const Region*, std::map<std::pair<const OpNode*, uint32_t>, int64_t>> numbers_;
};

class Search {
 public:
  Search(const Region& program, FiniteMarks& marks) : program_(program), marks_(marks) {}

  void add(const Place& place, const Tensor& value) {
    const Mark mark = marks_.at(place, value);
    if (mark == kFinite) return;
    std::vector<int64_t> key = time_of(place);
    key.push_back(value.node()->id);
    key.push_back(value.index());
    if (seen_.insert(std::move(key)).second) pending_.push_back({place, value, mark});
  }

  // Where the first non-finite number is made: an op, or a parameter of the program.
  std::optional<std::pair<Place, Tensor>> first() {
    std::optional<std::pair<Place, Tensor>> out;
    std::vector<int64_t> earliest;
    while (!pending_.empty()) {
      const Found found = pending_.back();
      pending_.pop_back();
      if (!follow(found)) continue;
      std::vector<int64_t> time = time_of(found.place);
      time.push_back(found.value.node()->id);
      if (out && time >= earliest) continue;
      earliest = std::move(time);
      out.emplace(found.place, found.value);
    }
    return out;
  }

 private:
  struct Found {
    Place place;
    Tensor value;
    Mark mark;
  };

  // Orders places by the time at which they run.
  static std::vector<int64_t> time_of(const Place& place) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < place.path.size(); ++i) {
      out.push_back(place.path[i].op->id);
      out.push_back(trips_of(place.path[i]).is_reversed ? -place.at[i] : place.at[i]);
      out.push_back(static_cast<int64_t>(place.path[i].region));
    }
    return out;
  }

  // Adds the values that the number may come from. Returns true if it is made here.
  bool follow(const Found& found) {
    if (found.value.is_parameter()) return follow_parameter(found);
    const OpNode& op = *found.value.node();
    bool enters = false;
    for (size_t r = 0; r < op.regions.size(); ++r) {
      RegionPath path = found.place.path;
      path.push_back({&op, r});
      if (!marks_.knows(path)) continue;
      enters = true;
      enter(found, op, r);
    }
    if (enters) return false;
    Mark most = kFinite;
    for (const Tensor& t : op.inputs) most = std::max(most, marks_.at(found.place, t));
    for (const Tensor& t : op.inputs) {
      if (marks_.at(found.place, t) == most) add(found.place, t);
    }
    return most < found.mark && !op.inputs.empty();
  }

  bool follow_parameter(const Found& found) {
    if (found.place.path.empty()) return true;
    const auto [op, region] = found.place.path.back();
    const Values& parameters = found.place.region->parameters();
    const auto position = static_cast<size_t>(
        std::ranges::find_if(parameters, [&](const Tensor& p) { return same(p, found.value); }) -
        parameters.begin());
    const Place outer = found.place.outer(program_);
    const ParameterSource source = source_of(*op, {region, found.place.at.back()}, position);
    if (const auto& trip = source.trip)
      add(outer.inner(*op, trip->region, trip->index), source.value);
    else
      add(outer, source.value);
    return false;
  }

  void enter(const Found& found, const OpNode& op, size_t region) {
    const Tensor& result = op.region(region).results()[found.value.index()];
    const auto at = [&](int64_t iteration) { return found.place.inner(op, region, iteration); };
    const RegionTrips trips = trips_of({&op, region});
    switch (trips.repeats) {
      case Repeats::kOnce:
        return add(at(0), result);
      case Repeats::kDevices:
        return add(at(kAnyDevice), result);
      case Repeats::kIterations:
        break;
    }
    for (int64_t i = 0; i < trips.count.value_or(kNonFiniteOptions.while_iterations); ++i)
      add(at(i), result);
  }

  const Region& program_;
  FiniteMarks& marks_;
  std::vector<Found> pending_;
  std::set<std::vector<int64_t>> seen_;
};

NonFiniteOrigin measure(const Region& program, const RunRegion& run, FiniteMarks& marks,
                        const Place& place, const Tensor& value) {
  const OpNode& op = *value.node();
  NonFiniteOrigin out{.scope = op.scope ? *op.scope : "",
                      .backward = op.phase == Phase::kBackward,
                      .is_nan = marks.at(place, value) == kNaN};
  if (!value.is_parameter()) out.op = op.rules->name();
  for (size_t i = 0; i < place.path.size(); ++i) {
    const OpNode& around = *place.path[i].op;
    if (trips_of(place.path[i]).repeats == Repeats::kIterations)
      out.iterations.push_back(place.at[i]);
    out.backward = out.backward || around.phase == Phase::kBackward;
  }
  Values measured = op.inputs;
  measured.push_back(value);
  const auto is_f64 = [](const Tensor& t) { return t.dtype() == DType::kF64; };
  const DType dtype = std::ranges::any_of(measured, is_f64) ? DType::kF64 : DType::kF32;
  const Observed observed = observe(
      program,
      [&](const RegionPath& path, const Region&, const Copies& copies) {
        if (path != place.path) return Values{};
        Values rows;
        for (const Tensor& t : measured) rows.push_back(astype(statistics(copies.at(t)), dtype));
        return Values{concatenate(rows, 0), first_non_finite(copies.at(value))};
      },
      kNonFiniteOptions);
  const std::vector<HostTensor> measures = observed_values(observed, run);
  const HostTensor& rows = measures[0];
  const auto n = static_cast<int64_t>(measured.size());
  // Of several devices, the first whose result is not finite.
  int64_t first = -1;
  for (const int64_t row : rows_of(place, rows.shape())) {
    const Statistics result = read_statistics(rows, row * n + n - 1);
    if (first < 0 ||
        (result.num_nan + result.num_inf > 0 && out.result.num_nan + out.result.num_inf == 0)) {
      first = row;
      out.result = result;
    }
  }
  for (int64_t i = 0; i + 1 < n; ++i) {
    out.operands.push_back(
        {describe(measured[static_cast<size_t>(i)]), read_statistics(rows, first * n + i)});
  }
  out.device = device_of(place, rows.shape(), first);
  out.index = index_of(static_cast<int64_t>(measures[1].at(first)), value.shape());
  return out;
}

}  // namespace

std::string to_text(const NonFiniteOrigin& origin) {
  const std::string_view kind = origin.is_nan ? "NaN" : "Inf";
  const std::string at =
      origin.index.empty() ? "" : fmt::format("; the first at [{}]", fmt::join(origin.index, ", "));
  if (origin.op.empty())
    return fmt::format("the first {} is in the argument {}\n  value: {}{}", kind, origin.scope,
                       to_text(origin.result), at);
  std::string out = fmt::format("the first {} is made by {} in {}", kind, origin.op,
                                origin.scope.empty() ? std::string("the top level") : origin.scope);
  if (!origin.iterations.empty())
    out += fmt::format(", iteration {}", fmt::join(origin.iterations, " of iteration "));
  if (!origin.device.empty()) out += fmt::format(", on the device {}", origin.device);
  out += origin.backward ? ", in the backward pass" : "";
  for (size_t i = 0; i < origin.operands.size(); ++i) {
    out += fmt::format("\n  operand {}, {}: {}", i, origin.operands[i].what,
                       to_text(origin.operands[i].statistics));
  }
  return out + fmt::format("\n  result: {}{}", to_text(origin.result), at);
}

std::optional<NonFiniteOrigin> find_non_finite(const Region& program, const RunRegion& run) {
  Values scalars, checked;
  for (const OpNode* op : program.ops()) {
    if (!is_finite_check(*op)) continue;
    checked.push_back(op->inputs[0]);
    if (checked.back().rank() == 0) scalars.push_back(checked.back());
  }
  const Place top{.region = &program};
  const auto found_in = [&](FiniteMarks& marks,
                            const Values& roots) -> std::optional<NonFiniteOrigin> {
    Search search(program, marks);
    for (const Tensor& t : roots) search.add(top, t);
    const auto first = search.first();
    if (!first) return std::nullopt;
    return measure(program, run, marks, first->first, first->second);
  };
  if (!scalars.empty()) {
    FiniteMarks marks(program, run, scalars);
    if (auto origin = found_in(marks, scalars)) return origin;
  }
  Values all = checked;
  all.insert(all.end(), program.results().begin(), program.results().end());
  FiniteMarks marks(program, run, all);
  auto origin = found_in(marks, checked);
  return origin ? origin : found_in(marks, program.results());
}

}  // namespace axle
