#include "transform/taps/observe.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "base/lists.h"
#include "ir/eval.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/bodies.h"
#include "transform/trace.h"

namespace axle {

namespace {

// A value on its way out, as a value of the region that is being emitted.
struct Extra {
  RegionPath path;
  size_t index = 0;
  Tensor value;
  Tensor ran;  // empty: always
};

Values tensors_of(const std::vector<Extra>& extras) {
  Values out;
  for (const Extra& extra : extras) {
    out.push_back(extra.value);
    if (extra.ran) out.push_back(extra.ran);
  }
  return out;
}

// Replaces the tensors of `extras`, in the order of tensors_of.
void replace(std::vector<Extra>& extras, std::span<const Tensor> tensors) {
  size_t next = 0;
  for (Extra& extra : extras) {
    extra.value = tensors[next++];
    if (extra.ran) extra.ran = tensors[next++];
  }
}

class Emitter {
 public:
  Emitter(const RegionObserver& observer, const ObserveOptions& options)
      : observer_(observer), options_(options) {}

  // Copies a region into the current one. Returns its results and adds to `extras`.
  Values copy(const Region& region, const Values& arguments, const RegionPath& path,
              std::vector<Extra>& extras) const {
    Copies copies(region.parameters(), arguments);
    for (const OpNode* op : region.ops()) {
      const PhaseScope phase(op->phase);
      const OriginScope origin(*op);
      const auto results = copy_op(*op, copies.all(op->inputs), path, extras);
      if (results)
        copies.set_results(*op, *results);
      else
        copies.clone(*op);
    }
    const Values own = observer_(path, region, copies);
    for (size_t i = 0; i < own.size(); ++i) extras.push_back({path, i, own[i], {}});
    return copies.all(region.results());
  }

 private:
  struct Body {
    std::shared_ptr<Region> region;  // the results, then tensors_of(extras)
    std::vector<Extra> extras;
  };

  Body body(const OpNode& op, size_t index, RegionPath path) const {
    path.push_back({&op, index});
    const Region& region = op.region(index);
    Body out;
    out.region = trace(
        [&](const Values& parameters) {
          const Values results = copy(region, parameters, path, out.extras);
          return concatenate<Tensor>({results, tensors_of(out.extras)});
        },
        types_of(region.parameters()));
    return out;
  }

  // Returns the results of a copy of the op, or none if nothing is taken out of its regions.
  std::optional<Values> copy_op(const OpNode& op, const Values& inputs, const RegionPath& path,
                                std::vector<Extra>& extras) const {
    const std::vector<RegionTrips> trips = trips_of_regions(op);
    Regions regions = op.regions;
    std::vector<std::vector<Extra>> found(regions.size());
    bool is_widened = false;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (!trips[i].is_open) continue;
      Body inner = body(op, i, path);
      if (inner.extras.empty()) continue;
      regions[i] = std::move(inner.region);
      found[i] = std::move(inner.extras);
      is_widened = true;
    }
    if (!is_widened) return std::nullopt;
    Widened copy = widen(op, inputs, regions, options_.while_iterations);
    for (size_t i = 0; i < regions.size(); ++i) {
      replace(found[i], copy.extra[i]);
      for (Extra& extra : found[i]) {
        if (!extra.ran) extra.ran = copy.ran[i];
        extras.push_back(std::move(extra));
      }
    }
    return std::move(copy.results);
  }

  const RegionObserver& observer_;
  const ObserveOptions& options_;
};

}  // namespace

RegionTrips trips_of(const RegionStep& step) { return trips_of_regions(*step.op)[step.region]; }

Observed observe(const Region& region, const RegionObserver& observer,
                 const ObserveOptions& options) {
  Observed out;
  std::vector<std::string> names;
  for (const Tensor& p : region.parameters())
    names.push_back(p.node()->scope ? *p.node()->scope : "");
  out.region = trace(
      [&](const Values& parameters) {
        std::vector<Extra> extras;
        Values results = Emitter(observer, options).copy(region, parameters, {}, extras);
        for (const Extra& extra : extras) {
          Observation found{.path = extra.path, .index = extra.index, .result = results.size()};
          results.push_back(extra.value);
          if (extra.ran) {
            found.ran = results.size();
            results.push_back(extra.ran);
          }
          out.observations.push_back(std::move(found));
        }
        return results;
      },
      types_of(region.parameters()), names);
  return out;
}

std::vector<HostTensor> observed_values(const Observed& observed, const RunRegion& run) {
  Values results;
  for (const Observation& o : observed.observations)
    results.push_back(observed.region->results()[o.result]);
  observed.region->set_results(std::move(results));
  observed.region->remove_dead_ops();
  return run(without_effects(observed.region));
}

HostTensor part_of(const HostTensor& whole, int64_t i, Shape dims) {
  HostTensor out(Type{whole.dtype(), std::move(dims)});
  const size_t n = out.bytes().size();
  std::memcpy(out.bytes().data(), whole.bytes().data() + n * static_cast<size_t>(i), n);
  return out;
}

std::string to_text(const Statistics& s) {
  if (s.num_finite == 0)
    return fmt::format("no finite element, {} NaN, {} Inf", s.num_nan, s.num_inf);
  return fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}, mean magnitude {:.6g}, {} NaN, {} Inf",
                     s.min, s.max, s.mean, s.mean_abs, s.num_nan, s.num_inf);
}

Tensor statistics(const Tensor& x) {
  const Tensor real = is_complex(x.dtype()) ? abs(x) : x;
  const Tensor y = real.dtype() == DType::kF64 ? real : astype(real, DType::kF32);
  const std::vector<int64_t> axes = all_axes(y);
  const Tensor finite = is_finite(y), nan = is_nan(y);
  const auto count = [&](const Tensor& p) { return reduce_sum(astype(p, y.dtype()), axes); };
  const Tensor num_finite = count(finite), num_nan = count(nan);
  const Tensor num_inf = count(~(finite | nan));
  // Divided before it is summed: the sum of large numbers may overflow.
  const Tensor shares = select(finite, y, 0) / maximum(num_finite, 1);
  const double most = y.dtype() == DType::kF64 ? std::numeric_limits<double>::max()
                                               : std::numeric_limits<float>::max();
  const Tensor any = num_finite > 0;
  const Values all{select(any, reduce_min(select(finite, y, most), axes), 0),
                   select(any, reduce_max(select(finite, y, -most), axes), 0),
                   reduce_sum(shares, axes),
                   reduce_sum(abs(shares), axes),
                   num_finite,
                   num_nan,
                   num_inf};
  Values rows;
  for (const Tensor& t : all) rows.push_back(expand_dims(t, 0));
  return concatenate(rows, 0);
}

Statistics read_statistics(const HostTensor& values, int64_t row) {
  const auto at = [&](int64_t i) { return values.at(row * kNumStatistics + i); };
  const auto number = [&](int64_t i) { return static_cast<int64_t>(at(i)); };
  return {at(0), at(1), at(2), at(3), number(4), number(5), number(6)};
}

Statistics statistics_of(const HostTensor& value) {
  const auto fn = [](const Values& x) { return Values{statistics(x[0])}; };
  return read_statistics(eval(fn, {value})[0]);
}

}  // namespace axle
