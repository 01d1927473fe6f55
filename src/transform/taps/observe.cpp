#include "transform/taps/observe.h"

#include <cstring>

#include "base/concatenate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/shape.h"
#include "transform/control_flow/cond_vjp.h"
#include "transform/control_flow/scan_attributes.h"
#include "transform/control_flow/while_attributes.h"
#include "transform/shard_map/shard_map_attributes.h"
#include "transform/taps/without_effects.h"

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
    if (op.regions.empty()) return std::nullopt;
    const std::string_view name = op.rules->name();
    std::vector<Extra> found;
    std::optional<Values> results;
    if (name == "scan") results = copy_scan(op, inputs, path, found);
    if (name == "cond") results = copy_cond(op, inputs, path, found);
    if (name == "while") results = copy_while(op, inputs, path, found);
    if (name == "shard_map") results = copy_shard_map(op, inputs, path, found);
    if (name == "call" || name == "remat" || name == "custom_vjp")
      results = copy_inline(op, inputs, path, found);
    extras.insert(extras.end(), found.begin(), found.end());
    return results;
  }

  std::optional<Values> copy_inline(const OpNode& op, const Values& inputs, const RegionPath& path,
                                    std::vector<Extra>& extras) const {
    Body inner = body(op, 0, path);
    if (inner.extras.empty()) return std::nullopt;
    return finish(op, std::move(inner.extras), inline_region(*inner.region, inputs), extras);
  }

  std::optional<Values> copy_scan(const OpNode& op, const Values& inputs, const RegionPath& path,
                                  std::vector<Extra>& extras) const {
    Body inner = body(op, 0, path);
    if (inner.extras.empty()) return std::nullopt;
    const Values all = emit_scan(inner.region, inputs, op.attrs<ScanAttributes>());
    return finish(op, std::move(inner.extras), all, extras);
  }

  // Values of the branches that are not taken are zeros.
  std::optional<Values> copy_cond(const OpNode& op, const Values& inputs, const RegionPath& path,
                                  std::vector<Extra>& extras) const {
    std::vector<Body> inner;
    std::vector<Extra> all;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      inner.push_back(body(op, i, path));
      all.insert(all.end(), inner.back().extras.begin(), inner.back().extras.end());
    }
    if (all.empty()) return std::nullopt;
    const size_t num_results = op.outputs.size();
    std::vector<std::shared_ptr<const Region>> branches;
    for (size_t i = 0; i < inner.size(); ++i) {
      branches.push_back(trace(
          [&](const Values& parameters) {
            const Values computed = inline_region(*inner[i].region, parameters);
            Values out = concatenate<Tensor>({std::span(computed).first(num_results)});
            size_t next = num_results;
            for (size_t b = 0; b < inner.size(); ++b) {
              for (const Extra& extra : inner[b].extras) {
                const bool here = b == i;
                const Type& type = extra.value.type();
                out.push_back(here ? computed[next++] : zeros(type.dims, type.dtype));
                const Shape dims = extra.ran ? extra.ran.shape() : Shape{};
                out.push_back(here && extra.ran ? computed[next++]
                                                : full(dims, here ? 1 : 0, DType::kPred));
              }
            }
            return out;
          },
          types_of(op.region().parameters())));
    }
    const Values results = emit_cond(std::move(branches), inputs);
    for (Extra& extra : all) extra.ran = extra.value;  // each has one: see above
    return finish(op, std::move(all), results, extras);
  }

  // The values of the first iterations are written to buffers that the loop carries.
  std::optional<Values> copy_while(const OpNode& op, const Values& inputs, const RegionPath& path,
                                   std::vector<Extra>& extras) const {
    Body inner = body(op, 1, path);
    if (inner.extras.empty()) return std::nullopt;
    const auto& a = op.attrs<WhileAttributes>();
    const size_t num_carries = op.outputs.size();
    // What an iteration delivers: for each value, the value and whether it ran.
    const auto delivered = [&](const Values& computed) {
      Values out;
      size_t next = num_carries;
      for (const Extra& extra : inner.extras) {
        out.push_back(computed[next++]);
        out.push_back(extra.ran ? computed[next++] : full({}, 1, DType::kPred));
      }
      return out;
    };
    Values state = inputs;
    state.push_back(scalar(0, DType::kI32));
    for (const Extra& extra : inner.extras) {
      const auto buffer = [&](const Type& type) {
        const Type stacked = stacked_type(type, options_.while_iterations);
        state.push_back(zeros(stacked.dims, stacked.dtype));
      };
      buffer(extra.value.type());
      buffer(extra.ran ? extra.ran.type() : Type{DType::kPred, {}});
    }
    const std::vector<Type> types = types_of(state);
    const auto slice_types = [&](size_t first, size_t count, std::vector<Type>& out) {
      const auto slice = std::span(types).subspan(first, count);
      out.insert(out.end(), slice.begin(), slice.end());
    };
    std::vector<Type> condition_types, body_types;
    slice_types(0, a.num_condition_consts, condition_types);
    slice_types(a.num_consts(), types.size() - a.num_consts(), condition_types);
    slice_types(a.num_condition_consts, types.size() - a.num_condition_consts, body_types);
    const auto condition = trace(
        [&](const Values& p) {
          return inline_region(
              op.region(0),
              concatenate<Tensor>({std::span(p).first(a.num_condition_consts + num_carries)}));
        },
        condition_types);
    const auto step = trace(
        [&](const Values& p) {
          const size_t num_own = a.num_body_consts + num_carries;
          const Values computed =
              inline_region(*inner.region, concatenate<Tensor>({std::span(p).first(num_own)}));
          const Tensor& count = p[num_own];
          const Tensor is_kept = count < options_.while_iterations;
          Values out = concatenate<Tensor>({std::span(computed).first(num_carries)});
          out.push_back(count + 1);
          size_t at = num_own + 1;
          for (const Tensor& value : delivered(computed)) {
            const Tensor& buffer = p[at++];
            out.push_back(
                select(is_kept, dynamic_update_index_in_dim(buffer, value, count), buffer));
          }
          return out;
        },
        body_types);
    const Values last = emit_while(condition, step, state, a);
    Values results = concatenate<Tensor>({std::span(last).first(num_carries)});
    const auto buffers = std::span(last).subspan(num_carries + 1);
    results.insert(results.end(), buffers.begin(), buffers.end());
    for (Extra& extra : inner.extras) extra.ran = extra.value;
    return finish(op, std::move(inner.extras), results, extras);
  }

  // The values of all devices are stacked.
  std::optional<Values> copy_shard_map(const OpNode& op, const Values& inputs,
                                       const RegionPath& path, std::vector<Extra>& extras) const {
    Body inner = body(op, 0, path);
    if (inner.extras.empty()) return std::nullopt;
    const size_t num_results = op.outputs.size();
    const auto stacked = trace(
        [&](const Values& parameters) {
          Values out = inline_region(*inner.region, parameters);
          for (size_t i = num_results; i < out.size(); ++i) out[i] = expand_dims(out[i], 0);
          return out;
        },
        types_of(op.region().parameters()));
    ShardMapAttributes a = op.attrs<ShardMapAttributes>();
    DimAxes all;
    for (const MeshAxis& axis : a.axes) all.push_back(axis.name);
    for (size_t i = num_results; i < stacked->results().size(); ++i) {
      PartitionSpec spec{.dims = {all}};
      spec.dims.resize(static_cast<size_t>(stacked->results()[i].rank()));
      a.out_specs.push_back(std::move(spec));
    }
    return finish(op, std::move(inner.extras), emit_shard_map(stacked, inputs, a), extras);
  }

  // Takes the results of the op and those of `inner` from `all`.
  static Values finish(const OpNode& op, std::vector<Extra> inner, const Values& all,
                       std::vector<Extra>& extras) {
    replace(inner, std::span(all).subspan(op.outputs.size()));
    extras.insert(extras.end(), inner.begin(), inner.end());
    return concatenate<Tensor>({std::span(all).first(op.outputs.size())});
  }

  const RegionObserver& observer_;
  const ObserveOptions& options_;
};

}  // namespace

Repeats repeats(const OpNode& op) {
  const std::string_view name = op.rules->name();
  if (name == "scan" || name == "while") return Repeats::kIterations;
  return name == "shard_map" ? Repeats::kDevices : Repeats::kOnce;
}

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

}  // namespace axle
