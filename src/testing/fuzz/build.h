// Emits the ops of random programs, each construct in one of two ways that mean the same: a scan or
// its iterations one after the other, a vmap or a loop over the batch, a remat or its body.
//
// Floating-point sums depend on their order, and a construct adds up the cotangents of each of its
// operands and results before it passes them on. So a body that stands in for a construct gets its
// operands and returns its results through `name` ops (grouped()), which makes the order of sums
// the same.
#pragma once

#include <functional>

#include "base/lists.h"
#include "testing/fuzz/devices.h"
#include "testing/fuzz/ops.h"
#include "testing/fuzz/program.h"

namespace axle::testing::fuzz {

/// Which constructs are built as such. The others are replaced by what they mean; gradients, by the
/// results that are differentiated.
struct Mode {
  bool is_on[kNumKinds] = {true, true, true, true, true, true, true, true, true, true, true, true};
  /// Builds the kHook steps. The flag says whether the kind is on.
  std::function<Tensor(const Tensor& x, bool is_on)> hook = {};
  /// What each gradient that a kGradient step computes is moved by, as rounding might.
  double moved_by = 0;

  bool on(Kind kind) const { return is_on[static_cast<size_t>(kind)]; }
  /// Returns this mode with one kind replaced by what it means.
  Mode without(Kind kind) const {
    Mode out = *this;
    out.is_on[static_cast<size_t>(kind)] = false;
    return out;
  }
};

/// Returns the values behind `name` ops, whose cotangents are passed on from the first value to the
/// last.
inline Values named(Values values) {
  for (size_t i = values.size(); i-- > 0;) values[i] = name(values[i], "grouped");
  return values;
}
/// Computes fn(arguments) in place. The cotangents of each argument, of each captured tensor and of
/// each result are added up within, in the order of an op with a body.
inline Values grouped(const TensorFunction& fn, const Values& arguments) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  return named(inline_region(*closed.region, named(closed.operands(arguments))));
}

class Builder {
 public:
  explicit Builder(const Mode& mode) : mode_(mode) {}
  /// Returns the builder of the body of a shard_map that makes these axes manual.
  Builder within(const MeshAxes& axes) const {
    Builder out = *this;
    out.axes_.insert(out.axes_.end(), axes.begin(), axes.end());
    return out;
  }
  const MeshAxes& axes() const { return axes_; }
  const Mode& mode() const { return mode_; }

  /// Returns the results of the program for values of its parameters and captures.
  Values run(const Program& program, Values values) const {
    for (const Step& step : program.steps) {
      for (const Tensor& t : results_of(step, values)) values.push_back(small(t));
    }
    Values out;
    for (const size_t i : program.results) out.push_back(values[i % values.size()]);
    return out;
  }

  static Values chosen(const std::vector<size_t>& indices, const Values& values) {
    Values out;
    for (const size_t i : indices) out.push_back(values[i % values.size()]);
    return out;
  }
  static Type with_batch(Type type, int64_t size, int64_t axis) {
    type.dims.insert(type.dims.begin() + axis, size);
    return type;
  }
  static Values fitted(const Values& values, const Values& like, size_t first = 0) {
    Values out = values;
    for (size_t i = first; i < out.size(); ++i) out[i] = fit(out[i], like[i % like.size()].type());
    return out;
  }
  /// A function of the arguments of the step's body; it captures the step's captures.
  TensorFunction body(const Step& step, const Values& captures, size_t which = 0) const {
    return [this, &step, captures, which](const Values& arguments) {
      return run(step.bodies[which], concatenate<Tensor>({arguments, captures}));
    };
  }

  Values results_of(const Step& step, const Values& values) const {
    const Values x = chosen(step.operands, values), captures = chosen(step.captures, values);
    switch (step.kind) {
      case Kind::kOp: {
        const OpEntry& op = op_table()[step.op];
        std::vector<int64_t> numbers = step.numbers;
        numbers.resize(3);
        return {op.build(x, numbers)};
      }
      case Kind::kHook:
        return {mode_.hook(floats(x[0]), mode_.on(step.kind))};
      case Kind::kScan:
        return scan_of(step, x, captures);
      case Kind::kCond:
        return cond_of(step, x, captures);
      case Kind::kRemat:
        return remat_of(step, x, captures);
      case Kind::kCustomVjp:
        return custom_vjp_of(step, x, captures);
      case Kind::kCall:
        return mode_.on(step.kind) ? call("body", body(step, captures), x)
                                   : grouped(body(step, captures), x);
      case Kind::kVmap:
        return vmap_of(step, x, captures);
      case Kind::kShardMap:
        return shard_map_of(step, x, captures);
      case Kind::kWhile:
        return while_of(step, x, captures);
      case Kind::kGradient:
        return gradient_of(step, x, captures);
      case Kind::kCollective:  // none outside of a shard_map
        return {axes_.empty() ? x[0] : Exchange(step, axes_).on_device(x[0])};
    }
    return {};
  }

  /// How a kScan step divides its operands: carries, then xs. Numbers: carries, length, reverse.
  struct Loop {
    Loop(const Step& step, const Values& x)
        : num_carries(std::min<size_t>(static_cast<size_t>(step.number(0)) % 3 + 1,
                                       std::min(x.size(), step.num_results()))),
          length(step.number(1) % 4),
          is_reverse(step.number(2) % 2),
          init(concatenate<Tensor>({std::span(x).first(num_carries)})) {
      for (size_t i = num_carries; i < x.size(); ++i) {
        Type type = with_dim(x[i]).type();
        type.dims[0] = length;
        xs.push_back(fit(x[i], type));
      }
    }
    /// Returns the index along the xs of an iteration.
    int64_t at(int64_t i) const { return is_reverse ? length - 1 - i : i; }
    size_t num_carries;
    int64_t length;
    bool is_reverse;
    Values init, xs = {};
  };
  /// The arguments of a kVmap step. Numbers: size of the batch, the axes of the arguments.
  struct Batch {
    Batch(const Step& step, const Values& x) : size(step.number(0) % 2 + 2) {
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t choice = (step.number(1) + static_cast<int64_t>(i)) % 4;
        const bool is_batched = i == 0 || choice != 3;
        const int64_t axis = choice == 1 ? x[i].rank() : 0;
        options.in_axes.push_back(is_batched ? std::optional(axis) : std::nullopt);
        arguments.push_back(is_batched ? fit(x[i], with_batch(x[i].type(), size, axis)) : x[i]);
      }
    }
    Values example(int64_t b) const {
      Values out;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const auto& axis = options.in_axes[i];
        out.push_back(axis ? index_in_dim(arguments[i], *axis, b) : arguments[i]);
      }
      return out;
    }
    int64_t size;
    VmapOptions options = {};
    Values arguments = {};
  };
  /// The loss of a kGradient step.
  static Tensor loss_of(const Values& results) {
    Tensor total = scalar(0, DType::kF32);
    for (const Tensor& t : results) total = total + astype(sum(sin(floats(t))), DType::kF32);
    return total;
  }

 private:
  Values scan_of(const Step& step, const Values& x, const Values& captures) const {
    const Loop loop(step, x);
    const size_t num_carries = loop.num_carries;
    const int64_t length = loop.length;
    const auto iterate = [this, &step, captures, num_carries](const Values& carry,
                                                              const Values& slices) {
      Values out = body(step, captures)(concatenate<Tensor>({carry, slices}));
      for (size_t i = 0; i < num_carries; ++i) out[i] = fit(out[i], carry[i].type());
      return out;
    };
    const auto parts = [num_carries](const Values& v) {
      return ScanResult{concatenate<Tensor>({std::span(v).first(num_carries)}),
                        concatenate<Tensor>({std::span(v).subspan(num_carries)})};
    };
    if (mode_.on(step.kind) || length == 0) {
      const ScanResult r =
          scan([&](const Values& c, const Values& s) { return parts(iterate(c, s)); }, loop.init,
               loop.xs, length, {.reverse = loop.is_reverse});
      Values out = r.carry;
      for (const Tensor& y : r.ys) out.push_back(length == 0 ? zeros({1}, y.dtype()) : y);
      return out;
    }
    const auto unrolled = [&](const Values& v) {
      ScanResult state = parts(v);  // ys: the xs
      std::vector<Values> ys(static_cast<size_t>(length));
      Values carry = state.carry;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = loop.at(i);
        Values slices;
        for (const Tensor& t : state.ys) slices.push_back(index_in_dim(t, 0, at));
        const ScanResult next = parts(grouped(
            [&](const Values& p) {
              const ScanResult own = parts(p);
              return iterate(own.carry, own.ys);
            },
            concatenate<Tensor>({carry, slices})));
        carry = next.carry;
        ys[at] = next.ys;
      }
      Values out = carry;
      for (size_t k = 0; k < ys[0].size(); ++k) {
        Values column;
        for (const Values& row : ys) column.push_back(row[k]);
        out.push_back(stack(column));
      }
      return out;
    };
    return grouped(unrolled, concatenate<Tensor>({loop.init, loop.xs}));
  }

  // Operands: the index, then the arguments. Each result has the type of an argument.
  Values cond_of(const Step& step, const Values& x, const Values& captures) const {
    const Tensor index = ops::scalar_index(x[0]);
    const Values arguments = concatenate<Tensor>({std::span(x).subspan(x.size() > 1 ? 1 : 0)});
    std::vector<TensorFunction> branches;
    for (size_t i = 0; i < step.bodies.size(); ++i) {
      branches.push_back([this, &step, captures, i](const Values& a) {
        Values out = body(step, captures, i)(a);
        const Values given = out;
        out.resize(step.num_results());
        for (size_t r = 0; r < out.size(); ++r)
          out[r] = fit(given[r % given.size()], a[r % a.size()].type());
        return out;
      });
    }
    if (mode_.on(step.kind)) return switch_case(index, branches, arguments);
    return grouped(
        [&](const Values& a) {
          std::vector<Values> all;
          for (const TensorFunction& branch : branches) all.push_back(branch(a));
          Values out;
          for (size_t r = 0; r < step.num_results(); ++r) {
            Values cases;
            for (const Values& of_branch : all) cases.push_back(of_branch[r]);
            out.push_back(select_n(index, cases));
          }
          return out;
        },
        arguments);
  }

  // Numbers: the policy, prevent_cse.
  Values remat_of(const Step& step, const Values& x, const Values& captures) const {
    const auto fn = [&](const Values& a) {
      Values out = body(step, captures)(a);
      out[0] = name(out[0], "a");  // policies must match a tag
      return out;
    };
    if (!mode_.on(step.kind)) return grouped(fn, x);
    return remat(fn, x, policy(step.number(0)), step.number(1) % 2);
  }

  // The rule of a custom_vjp is the gradient of its body, so that it can be left out.
  Values custom_vjp_of(const Step& step, const Values& x, const Values& captures) const {
    Values outer;
    for (const Tensor& t : captures) outer.push_back(stop_gradient(t));
    if (!mode_.on(step.kind)) return grouped(body(step, outer), x);
    // Copies: a pullback may run after the program that was built is gone.
    const auto backward = [builder = *this, step, num = x.size()](const Values& saved,
                                                                  const Values& cotangents) {
      const Values own = concatenate<Tensor>({std::span(saved).first(num)});
      const Values others = concatenate<Tensor>({std::span(saved).subspan(num)});
      return vjp(builder.body(step, others), own).pullback(cotangents);
    };
    return custom_vjp(
        {.name = "rule",
         .forward =
             [&](const Values& a) {
               return WithResiduals{body(step, outer)(a), concatenate<Tensor>({a, outer})};
             },
         .backward = backward},
        x);
  }

  Values vmap_of(const Step& step, const Values& x, const Values& captures) const {
    const Batch batch(step, x);
    if (mode_.on(step.kind)) return vmap(body(step, captures), batch.arguments, batch.options);
    std::vector<Values> each;
    for (int64_t b = 0; b < batch.size; ++b) each.push_back(body(step, captures)(batch.example(b)));
    Values out;
    for (size_t r = 0; r < each[0].size(); ++r) {
      Values column;
      for (const Values& of_example : each) column.push_back(of_example[r]);
      out.push_back(stack(column));
    }
    return out;
  }

  // Numbers: see division_of. A result is made the same along the axes that its spec does not name.
  Values shard_map_of(const Step& step, const Values& x, const Values& captures) const {
    if (!mode_.on(step.kind)) return on_all_devices(step, x, captures);
    const Division division = division_of(step, axes_, x.size());
    const Builder inside = within(division.axes);
    Values arguments;
    for (size_t i = 0; i < x.size(); ++i) arguments.push_back(divisible(x[i], division.in[i]));
    return shard_map(
        [&](const Values& parts) {
          Values out = inside.run(step.bodies[0], concatenate<Tensor>({parts, captures}));
          for (size_t r = 0; r < out.size(); ++r) {
            const MeshAxes copies = axes_of_copies(division.out[r], division.axes);
            if (!copies.empty()) out[r] = Exchange(out[r], copies).on_device(out[r]);
            out[r] = with_rank(out[r], division.out[r].dims.size());
          }
          return out;
        },
        arguments,
        {.mesh = kFuzzMesh,
         .in_specs = division.in,
         .out_specs = division.out,
         .axes = division.asked});
  }
  /// A shard_map without one: what each device computes, one after the other (lockstep.h).
  Values on_all_devices(const Step& step, const Values& x, const Values& captures) const;

  // A loop of at most three iterations; the first operand says how many. It has no gradient.
  Values while_of(const Step& step, const Values& x, const Values& captures) const {
    const Tensor three = scalar(3, DType::kI32);
    const Tensor count = minimum(ops::scalar_index(x[0]), three);
    Values init{scalar(0, DType::kI32)}, outer;
    for (size_t i = 0; i < step.num_results(); ++i) init.push_back(stop_gradient(x[i % x.size()]));
    for (const Tensor& t : captures) outer.push_back(stop_gradient(t));
    const auto goes_on = [&](const Values& state) { return state[0] < count; };
    const auto next = [&](const Values& state) {
      const Values carry = concatenate<Tensor>({std::span(state).subspan(1)});
      const Values out = fitted(body(step, outer)(carry), carry);
      return concatenate<Tensor>({Values{state[0] + 1}, out});
    };
    const Values last = mode_.on(step.kind) ? while_loop(goes_on, next, init)
                                            : bounded_while(goes_on, next, init, 3);
    return concatenate<Tensor>({std::span(last).subspan(1)});
  }

  // The gradients of a sum over the body's results.
  Values gradient_of(const Step& step, const Values& x, const Values& captures) const {
    if (!mode_.on(step.kind)) return body(step, captures)(x);
    const auto loss = [&](const Values& a) { return Values{loss_of(body(step, captures)(a))}; };
    const Values gradients = value_and_grad(loss, x).second;
    Values out;
    for (size_t i = 0; i < step.num_results(); ++i) {
      const Tensor& g = gradients[i % gradients.size()];
      if (!static_cast<bool>(g))
        out.push_back(zeros({1}));
      else
        out.push_back(tanh(mode_.moved_by == 0 ? g : g + mode_.moved_by));
    }
    return out;
  }

 public:
  /// The remat policies of random programs.
  static RematPolicy policy(int64_t number) {
    switch (number % 6) {
      case 0:
        return save_nothing();
      case 1:
        return save_dots();
      case 2:
        return save_everything();
      case 3:
        return save_names({"a"});
      case 4:
        return offload_dots();
      default:
        return combine({save_dots(), save_names({}, {"a"})});
    }
  }

 private:
  Mode mode_;
  MeshAxes axes_ = {};  // that are manual, from the outermost shard_map on
};

}  // namespace axle::testing::fuzz
