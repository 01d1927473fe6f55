// What the devices of a shard_map compute, written out: each step for one device after the other,
// and each collective for all of them together.
//
// Bodies with collectives are entered by all devices at once: a loop is unrolled, a remat and a
// call are their bodies, the examples of a vmap come one after the other. A gradient within is that
// of the sum of the losses of all devices.
#pragma once

#include "testing/fuzz/build.h"

namespace axle::testing::fuzz {

class Lockstep {
 public:
  /// The devices lie along the axes of the builder.
  explicit Lockstep(const Builder& builder) : builder_(builder) {}

  /// Computes a shard_map on each of the devices that enter it, from their operands.
  Each shard_map(const Step& step, const Each& x, const Each& captures) const {
    const Division division = division_of(step, builder_.axes(), x[0].size());
    const size_t num_inner = num_devices(division.axes);
    Each values;
    for (size_t outer = 0; outer < x.size(); ++outer) {
      for (size_t d = 0; d < num_inner; ++d) {
        Values own;
        for (size_t i = 0; i < x[outer].size(); ++i) {
          own.push_back(
              part_of(divisible(x[outer][i], division.in[i]), division.in[i], division.axes, d));
        }
        values.push_back(concatenate<Tensor>({own, captures[outer]}));
      }
    }
    const Each results =
        Lockstep(builder_.within(division.axes)).run(step.bodies[0], std::move(values));
    Each out(x.size());
    for (size_t outer = 0; outer < x.size(); ++outer) {
      for (size_t r = 0; r < division.out.size(); ++r) {
        const PartitionSpec& spec = division.out[r];
        const MeshAxes copies = axes_of_copies(spec, division.axes);
        Values parts;
        for (size_t d = 0; d < num_inner; ++d) parts.push_back(results[outer * num_inner + d][r]);
        if (!copies.empty()) parts = Exchange(parts[0], copies).on_all(parts, division.axes);
        for (Tensor& t : parts) t = with_rank(t, spec.dims.size());
        out[outer].push_back(whole_of(parts, spec, division.axes));
      }
    }
    return out;
  }

 private:
  // Returns the results of a program for the values of each device.
  Each run(const Program& program, Each values) const {
    for (const Step& step : program.steps) {
      const Each found = results_of(step, values);
      for (size_t d = 0; d < values.size(); ++d) {
        for (const Tensor& t : found[d]) values[d].push_back(small(t));
      }
    }
    Each out;
    for (const Values& own : values) out.push_back(Builder::chosen(program.results, own));
    return out;
  }
  Each body(const Step& step, const Each& arguments, const Each& captures) const {
    Each values;
    for (size_t d = 0; d < arguments.size(); ++d)
      values.push_back(concatenate<Tensor>({arguments[d], captures[d]}));
    return run(step.bodies[0], std::move(values));
  }

  Each results_of(const Step& step, const Each& values) const {
    Each x, captures;
    for (const Values& own : values) {
      x.push_back(Builder::chosen(step.operands, own));
      captures.push_back(Builder::chosen(step.captures, own));
    }
    switch (has(step, Kind::kCollective) ? step.kind : Kind::kOp) {
      case Kind::kCollective: {
        Values own;
        for (const Values& of_device : x) own.push_back(of_device[0]);
        Each out;
        for (const Tensor& t : Exchange(step, builder_.axes()).on_all(own, builder_.axes()))
          out.push_back({t});
        return out;
      }
      case Kind::kShardMap:
        return shard_map(step, x, captures);
      case Kind::kScan:
        return scan(step, x, captures);
      case Kind::kVmap:
        return vmap(step, x, captures);
      case Kind::kGradient:
        if (builder_.mode().on(step.kind)) return gradient(step, x, captures);
        return body(step, x, captures);
      case Kind::kCustomVjp:
        for (Values& own : captures) {
          for (Tensor& t : own) t = stop_gradient(t);
        }
        return body(step, x, captures);
      case Kind::kRemat:
      case Kind::kCall:
        return body(step, x, captures);
      default: {  // no devices meet in it
        Each out;
        for (const Values& own : values) out.push_back(builder_.results_of(step, own));
        return out;
      }
    }
  }

  Each scan(const Step& step, const Each& x, const Each& captures) const {
    std::vector<Builder::Loop> loops;
    Each carry;
    for (const Values& own : x) {
      loops.emplace_back(step, own);
      carry.push_back(loops.back().init);
    }
    const int64_t length = loops[0].length;
    std::vector<Each> ys(static_cast<size_t>(length));  // by the index along the xs
    // A loop without iterations computes only the types of its ys.
    for (int64_t i = 0; i < std::max<int64_t>(length, 1); ++i) {
      Each arguments = carry;
      for (size_t d = 0; d < x.size(); ++d) {
        for (const Tensor& t : loops[d].xs) {
          Type slice = t.type();
          slice.dims.erase(slice.dims.begin());
          arguments[d].push_back(length == 0 ? zeros(slice.dims, slice.dtype)
                                             : index_in_dim(t, 0, loops[d].at(i)));
        }
      }
      const Each out = body(step, arguments, captures);
      if (length == 0) return without_iterations(carry, out);
      Each& here = ys[loops[0].at(i)];
      for (size_t d = 0; d < x.size(); ++d) {
        const size_t num_carries = loops[d].num_carries;
        for (size_t k = 0; k < num_carries; ++k) carry[d][k] = fit(out[d][k], carry[d][k].type());
        here.push_back(concatenate<Tensor>({std::span(out[d]).subspan(num_carries)}));
      }
    }
    for (size_t d = 0; d < x.size(); ++d) {
      for (size_t k = 0; k < ys[0][d].size(); ++k) {
        Values column;
        for (const Each& row : ys) column.push_back(row[d][k]);
        carry[d].push_back(stack(column));
      }
    }
    return carry;
  }
  static Each without_iterations(Each carry, const Each& out) {
    for (size_t d = 0; d < carry.size(); ++d) {
      for (size_t k = carry[d].size(); k < out[d].size(); ++k)
        carry[d].push_back(zeros({1}, out[d][k].dtype()));
    }
    return carry;
  }

  Each vmap(const Step& step, const Each& x, const Each& captures) const {
    std::vector<Builder::Batch> batches;
    for (const Values& own : x) batches.emplace_back(step, own);
    std::vector<Each> examples;
    for (int64_t b = 0; b < batches[0].size; ++b) {
      Each arguments;
      for (const Builder::Batch& batch : batches) arguments.push_back(batch.example(b));
      examples.push_back(body(step, arguments, captures));
    }
    Each out(x.size());
    for (size_t d = 0; d < x.size(); ++d) {
      for (size_t r = 0; r < examples[0][d].size(); ++r) {
        Values column;
        for (const Each& of_example : examples) column.push_back(of_example[d][r]);
        out[d].push_back(stack(column));
      }
    }
    return out;
  }

  Each gradient(const Step& step, const Each& x, const Each& captures) const {
    Values all;
    for (const Values& own : x) all.insert(all.end(), own.begin(), own.end());
    const size_t count = x[0].size();
    const auto loss = [&](const Values& v) {
      Each arguments;
      for (size_t d = 0; d < x.size(); ++d)
        arguments.push_back(concatenate<Tensor>({std::span(v).subspan(d * count, count)}));
      Tensor total = scalar(0, DType::kF32);
      for (const Values& results : body(step, arguments, captures))
        total = total + Builder::loss_of(results);
      return Values{total};
    };
    const Values gradients = value_and_grad(loss, all).second;
    Each out(x.size());
    for (size_t d = 0; d < x.size(); ++d) {
      for (size_t r = 0; r < step.num_results(); ++r) {
        const size_t i = r % count;
        bool has_any = false;  // a device may have none where others have one
        for (size_t e = 0; e < x.size(); ++e) has_any = has_any || gradients[e * count + i];
        const Tensor& g = gradients[d * count + i];
        out[d].push_back(g ? tanh(g) : has_any ? zeros_like(x[d][i]) : zeros({1}));
      }
    }
    return out;
  }

  Builder builder_;
};

inline Values Builder::on_all_devices(const Step& step, const Values& x,
                                      const Values& captures) const {
  return Lockstep(*this).shard_map(step, {x}, {captures})[0];
}

}  // namespace axle::testing::fuzz
