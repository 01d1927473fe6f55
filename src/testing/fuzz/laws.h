// The laws that every random program must keep.
//
// "The same numbers" are equal bits, but for the sign of zero: a construct adds zeros for results
// that nobody differentiates, and -0 + 0 is 0. Derivatives of the second order sum in another order
// in another form of the program, so they agree up to rounding, in f64.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ir/eval.h"
#include "ir/text/text_form.h"
#include "ir/value_map.h"
#include "testing/fuzz/build.h"
#include "testing/fuzz/generate.h"
#include "testing/fuzz/lockstep.h"
#include "testing/host_tensors.h"
#include "transform/simplify.h"

namespace axle::testing::fuzz {

using Tensors = std::vector<HostTensor>;

inline std::string difference(const Tensors& actual, const Tensors& expected, double tolerance) {
  if (actual.size() != expected.size())
    return fmt::format("{} results instead of {}", actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i].type() != expected[i].type()) {
      return fmt::format("result {} is {} instead of {}", i, to_text(actual[i].type()),
                         to_text(expected[i].type()));
    }
    const double allowed = tolerance * std::max(1.0, largest_element(expected[i]));
    if (largest_difference(actual[i], expected[i]) <= allowed) continue;
    return fmt::format("result {} is {} instead of {}", i, actual[i].text(), expected[i].text());
  }
  return "";
}

/// Checks the laws for one program.
class Laws {
 public:
  Laws(const Program& program, uint64_t seed, bool smooth, Mode mode = {})
      : program_(program),
        mode_(std::move(mode)),
        smooth_(smooth),
        x_(arguments_for(program, seed)),
        direction_(arguments_for(program, seed + 100)) {}

  /// Returns the first law that the program breaks, and how; an empty text if it keeps all. A
  /// program whose numbers are not finite or are large breaks none; `is_tame` is then false.
  std::string broken() {
    std::string law = "builds";
    try {
      const auto region = trace(gradient(mode_), types());
      expected_ = evaluate(*region, x_);
      for (const HostTensor& t : expected_) is_tame = is_tame && is_small(t);
      if (!is_tame) return "";
      for (const auto& [name, check] : all(*region)) {
        law = name;
        if (const std::string what = check(); !what.empty()) return law + ": " + what;
      }
    } catch (const std::exception& error) {
      return law + ": " + error.what();
    }
    return "";
  }
  bool is_tame = true;

  /// Says why laws were not checked, and how often.
  const std::map<std::string, uint64_t>& skipped() const { return skipped_; }

  /// Checks only that this kind is what it stands for.
  std::string broken_by(Kind kind) {
    try {
      expected_ = evaluate(*trace(gradient(mode_), types()), x_);
      return stands_for(kind);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  struct Law {
    std::string name;
    std::function<std::string()> check;
  };

  static bool is_small(const HostTensor& t) {
    return largest_difference(t, t) == 0 && largest_element(t) < 1e4;
  }

  std::vector<Law> all(const Region& region) const {
    std::vector<Law> out;
    out.push_back({"print parses back", [&] { return parses(region); }});
    out.push_back({"simplify keeps results", [&] {
                     const auto small_region = simplify(region);
                     const std::string what = parses(*small_region);
                     if (!what.empty()) return "parsing: " + what;
                     return difference(evaluate(*small_region, x_), expected_, 0);
                   }});
    for (int64_t policy = 0; policy < 6; policy += 1) {
      out.push_back({"remat of all keeps results", [this, policy] {
                       return difference(evaluate(*trace(rematted(policy), types()), x_), expected_,
                                         0);
                     }});
      out.push_back({"policies keep their promise", [this, policy] { return promise(policy); }});
    }
    out.push_back({"a loop stacks its carries at most", [this] { return stacks(); }});
    for (const Kind kind : {Kind::kScan, Kind::kCond, Kind::kRemat, Kind::kCustomVjp, Kind::kCall,
                            Kind::kVmap, Kind::kShardMap, Kind::kWhile, Kind::kHook}) {
      if (!has(program_, kind)) continue;
      out.push_back({std::string(name_of(kind)) + " is what it stands for",
                     [this, kind] { return stands_for(kind); }});
    }
    out.push_back({"vmap of all is a loop", [this] { return batched(); }});
    out.push_back({"jvp agrees with vjp", [this] { return forward_mode(); }});
    out.push_back({"second derivatives agree", [this] { return second_order(); }});
    if (smooth_) out.push_back({"gradients are slopes", [this] { return slopes(); }});
    return out;
  }

  std::vector<Type> types() const { return program_.parameters; }

  /// The loss, then the results of the program.
  TensorFunction loss(const Mode& mode) const {
    return [this, mode](const Values& x) {
      Values out = Builder(mode).run(program_, x);
      Tensor total = scalar(0, DType::kF32);
      for (const Tensor& t : out) {
        const Tensor y = floats(t);
        const Tensor counted = reshape(iota({y.type().num_elements()}, 0, DType::kF32), y.shape());
        total = total + astype(sum(y * astype(cos(counted * 0.7), y.dtype())), DType::kF32);
      }
      out.insert(out.begin(), name(total, "a"));
      return out;
    };
  }
  /// The loss, the results, the gradients of the floating-point parameters.
  static TensorFunction gradient_of(const TensorFunction& fn) {
    return [fn](const Values& x) {
      auto [out, gradients] = value_and_grad(fn, x);
      for (const Tensor& g : gradients) {
        if (g) out.push_back(g);
      }
      return out;
    };
  }
  TensorFunction gradient(const Mode& mode) const { return gradient_of(loss(mode)); }
  TensorFunction rematted(int64_t policy) const {
    return gradient_of(
        [this, policy](const Values& x) { return remat(loss(mode_), x, Builder::policy(policy)); });
  }

  std::string parses(const Region& region) const {
    const std::string text = print(region);
    const auto parsed = parse_region(text, AttributeTable(region));
    verify(*parsed);
    if (print(*parsed) != text) return "another text:\n" + print(*parsed) + "instead of\n" + text;
    return difference(evaluate(*parsed, x_), expected_, 0);
  }

  /// True if gradients are summed in another order without the kind. That is so for the gradients
  /// of gradients, and for tensors that all examples of a vmap or all devices share. Under vmap, a
  /// loop batches a carry in all iterations if it does in one; what stands for it does not.
  bool sums_differ(Kind kind) const {
    if (kind == Kind::kVmap || kind == Kind::kShardMap) return true;
    if (has(program_, Kind::kGradient)) return true;
    return has(program_, Kind::kVmap) &&
           (kind == Kind::kScan || kind == Kind::kCond || kind == Kind::kCustomVjp);
  }

  std::string stands_for(Kind kind) const {
    const Mode other = mode_.without(kind);
    if (!sums_differ(kind))
      return difference(evaluate(*trace(gradient(other), types()), x_), expected_, 0);
    const bool has_gradient = has(program_, Kind::kGradient);
    if (!has_gradient) {
      const std::string forward = difference(eval(loss(other), x_), eval(loss(mode_), x_), 0);
      if (!forward.empty()) return forward;
    }
    const std::string what = in_f64(gradient(other), gradient(mode_), 1e-9);
    if (what.empty() || smooth_ || !has_gradient || !sums_differ_within(kind) || !is_on_a_step())
      return what;
    // What remains are the results of the program without its gradients.
    skip("gradients with steps");
    return without_gradients(other);
  }
  /// True if gradients that the program computes itself are summed in another order.
  bool sums_differ_within(Kind kind) const {
    return kind == Kind::kShardMap || has(program_, Kind::kVmap);
  }
  /// True if a gradient that the program computes itself falls on a step: moved as little as by
  /// rounding, it changes results by far more. In another order of sums, it may fall on the other
  /// side.
  bool is_on_a_step() const {
    return std::ranges::any_of(std::array{1e-12, -1e-12}, [&](double moved_by) {
      Mode moved = mode_;
      moved.moved_by = moved_by;
      return !in_f64(gradient(moved), gradient(mode_), 1e-9).empty();
    });
  }

  std::string skip(const std::string& why) const {
    ++skipped_[why];
    return "";
  }

  std::string without_gradients(const Mode& other) const {
    const Tensors expected = eval(loss(mode_.without(Kind::kGradient)), x_);
    if (!std::ranges::all_of(expected, is_small)) return skip("wild without gradients");
    return difference(eval(loss(other.without(Kind::kGradient)), x_), expected, 0);
  }

  std::string in_f64(const TensorFunction& actual, const TensorFunction& expected,
                     double tolerance) const {
    const EvalOptions f64{.f64 = true};
    const Tensors e = evaluate(*trace(expected, types()), x_, f64);
    if (!std::ranges::all_of(e, is_small)) return skip("wild in f64");
    return difference(evaluate(*trace(actual, types()), x_, f64), e, tolerance);
  }

  /// True if `t` is the result of an op that `is_kept` accepts, or brings such a result out of a
  /// region. A branch without the value returns zeros for it. A shard_map adds a dim to scalars.
  static bool is_kept_value(const Tensor& t, const std::function<bool(const OpNode&)>& is_kept) {
    const OpNode* from = t.node();
    if (t.is_parameter()) return false;
    if (splat_of(t) || is_kept(*from)) return true;
    if (from->rules->name() == "place" || from->rules->name() == "reshape")
      return is_kept_value(from->inputs[0], is_kept);
    return !from->regions.empty() && std::ranges::all_of(from->regions, [&](const auto& region) {
      return is_kept_value(region->results()[t.index()], is_kept);
    });
  }
  /// Returns what the backward pass reads although the policy does not keep it.
  std::string promise(int64_t policy) const {
    const auto region = trace(rematted(policy), types());
    const auto is_kept = [&](const OpNode& op) {
      static constexpr std::array<std::string_view, 4> kProducts = {
          "dot_general", "convolution", "ragged_dot", "ragged_dot_contracting"};
      const bool is_dot = std::ranges::find(kProducts, op.rules->name()) != kProducts.end();
      const bool is_tagged = tag_of(op) == "a";
      switch (policy) {
        case 0:
          return false;
        case 1:
        case 4:
          return is_dot;
        case 3:
          return is_tagged;
        case 5:
          return is_dot || is_tagged;
        default:
          return true;
      }
    };
    for (const OpNode* op : region->ops()) {
      if (op->phase != Phase::kBackward) continue;
      for (const Tensor& t : op->inputs) {
        if (t.is_parameter() || t.node()->phase == Phase::kBackward || is_kept_value(t, is_kept))
          continue;
        return fmt::format("{} reads {}, which {} does not keep", op->rules->name(), describe(t),
                           Builder::policy(policy).text);
      }
    }
    return "";
  }

  /// A scan whose body is a remat of the program that keeps nothing stacks its carries at most.
  std::string stacks() const {
    const auto region = trace(gradient_of([this](const Values& x) {
                                const auto step = [&](const Values& carry, const Values&) {
                                  const auto body = [&](const Values& c) {
                                    Values out = Builder(mode_).run(program_, c);
                                    const Values found = out;
                                    out.resize(c.size());
                                    for (size_t i = 0; i < c.size(); ++i)
                                      out[i] = fit(found[i % found.size()], c[i].type());
                                    return out;
                                  };
                                  return ScanResult{remat(body, carry, save_nothing(), false), {}};
                                };
                                Tensor total = scalar(0, DType::kF32);
                                for (const Tensor& t : scan(step, x, {}, 2).carry)
                                  total = total + astype(sum(floats(t)), DType::kF32);
                                return Values{total};
                              }),
                              types());
    for (const OpNode* op : region->ops()) {
      if (op->rules->name() != "scan" || op->phase == Phase::kBackward) continue;
      if (op->outputs.size() > 2 * program_.parameters.size()) {
        return fmt::format("a loop with {} carries has {} results", program_.parameters.size(),
                           op->outputs.size());
      }
    }
    return "";
  }

  /// vmap of the gradients over two examples returns the gradients of each.
  std::string batched() const {
    Tensors both;
    for (size_t i = 0; i < x_.size(); ++i) {
      Type type = x_[i].type();
      type.dims.insert(type.dims.begin(), 2);
      HostTensor t(type);
      std::ranges::copy(x_[i].bytes(), t.bytes().begin());
      std::ranges::copy(direction_[i].bytes(),
                        t.bytes().begin() + static_cast<ptrdiff_t>(x_[i].bytes().size()));
      both.push_back(std::move(t));
    }
    const Tensors second = eval(gradient(mode_), direction_);
    if (!std::ranges::all_of(second, is_small)) return skip("wild for the second example");
    const Tensors found = eval([&](const Values& v) { return vmap(gradient(mode_), v); }, both);
    Tensors examples[2];
    for (const HostTensor& t : found) {
      Type type = t.type();
      type.dims.erase(type.dims.begin());
      for (size_t b = 0; b < 2; ++b) {
        HostTensor part(type);
        std::ranges::copy(t.bytes().subspan(b * part.bytes().size(), part.bytes().size()),
                          part.bytes().begin());
        examples[b].push_back(std::move(part));
      }
    }
    const std::string what = difference(examples[0], expected_, 0);
    return what.empty() ? difference(examples[1], second, 0) : what;
  }

  /// The direction of a parameter as a constant.
  Values tangents(const Values& x) const {
    Values out;
    for (size_t i = 0; i < x.size(); ++i)
      out.push_back(is_float(x[i].dtype()) ? constant(direction_[i]) : Tensor());
    return out;
  }
  /// The derivative of the loss in the direction, by reverse mode.
  TensorFunction slope(const Mode& mode) const {
    return [this, mode](const Values& x) {
      const Values v = tangents(x);
      const Values g = value_and_grad(loss(mode), x).second;
      Tensor total = scalar(0, DType::kF32);
      for (size_t i = 0; i < x.size(); ++i) {
        if (v[i]) total = total + astype(sum(g[i] * v[i]), DType::kF32);
      }
      return Values{total};
    };
  }
  std::string forward_mode() const {
    const auto forward = [this](const Values& x) {
      const auto total = [this](const Values& v) { return Values{loss(mode_)(v)[0]}; };
      return Values{jvp(total, x, tangents(x)).second[0]};
    };
    return in_f64(forward, slope(mode_), 1e-8);
  }

  std::string second_order() const {
    Mode plain = mode_;
    for (const Kind kind : {Kind::kScan, Kind::kRemat, Kind::kCall, Kind::kCond, Kind::kCustomVjp})
      plain = plain.without(kind);
    return in_f64(gradient_of(slope(plain)), gradient_of(slope(mode_)), 1e-8);
  }

  std::string slopes() const {
    const EvalOptions f64{.f64 = true};
    const auto at = [&](double eps) {
      Tensors moved;
      for (size_t i = 0; i < x_.size(); ++i) {
        moved.push_back(x_[i].astype(DType::kF64));
        for (int64_t j = 0; j < moved[i].size(); ++j)
          moved[i].values<double>()[j] += eps * direction_[i].at(j);
      }
      return evaluate(*trace(loss(mode_), types()), moved, f64)[0].at(0);
    };
    // Richardson's extrapolation: a steep program curves too much for one difference.
    const auto slope_over = [&](double eps) { return (at(eps) - at(-eps)) / (2 * eps); };
    const double expected = (4 * slope_over(1e-5) - slope_over(2e-5)) / 3;
    const double actual = evaluate(*trace(slope(mode_), types()), x_, f64)[0].at(0);
    if (std::abs(actual) > 1e4) return skip("steep");
    if (std::abs(actual - expected) <= 1e-4 * std::max(1.0, std::abs(expected))) return "";
    return fmt::format("{} instead of {}", actual, expected);
  }

  Program program_;
  Mode mode_;
  bool smooth_;
  Tensors x_, direction_, expected_;
  mutable std::map<std::string, uint64_t> skipped_;
};

}  // namespace axle::testing::fuzz
