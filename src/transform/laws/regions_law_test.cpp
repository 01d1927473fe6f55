// Laws of the rules of regions, over the samples of all ops that have any: no row lacks one, values
// can be taken out of open regions, and parameters have the values of their sources.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "ir/eval.h"
#include "testing/all_samples.h"
#include "testing/collective_samples.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/bodies.h"
#include "transform/taps/observe.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::OpSample;

std::shared_ptr<Region> traced(const OpSample& sample, const TensorFunction& fn) {
  std::vector<Type> types;
  for (const HostTensor& x : sample.inputs) types.push_back(x.type());
  return trace(fn, types);
}

template <class Function>
void for_each_op(const Region& region, const Function& fn) {
  for (const OpNode* op : region.ops()) {
    fn(*op);
    for (const auto& inner : op->regions) for_each_op(*inner, fn);
  }
}

TEST(RegionsLaw, NoRowLacksARule) {
  std::set<std::string> with_regions;
  for (const OpSample& sample : testing::all_samples()) {
    for_each_op(*traced(sample, sample.fn), [&](const OpNode& op) {
      if (op.regions.empty()) return;
      with_regions.emplace(op.rules->name());
      EXPECT_THAT(missing_region_rules(op.rules->row(), op), IsEmpty()) << op.rules->name();
      EXPECT_EQ(trips_of_regions(op).size(), op.regions.size()) << op.rules->name();
      EXPECT_EQ(counted_trips(op).size(), op.regions.size()) << op.rules->name();
    });
  }
  EXPECT_GE(with_regions.size(), 8u);
}

TEST(RegionsLaw, ARuleThatARowLacksIsNamed) {
  for (const OpSample& sample : testing::body_samples()) {
    if (sample.op != "scan") continue;
    const auto region = traced(sample, sample.fn);
    for_each_op(*region, [](const OpNode& op) {
      if (op.rules->name() != "scan") return;
      OpRow row = op.rules->row();
      row.body.emit = nullptr;
      EXPECT_THAT(missing_region_rules(row, op), ElementsAre("body.emit"));
      row = op.rules->row();
      row.linearize = nullptr;
      row.body.flow = nullptr;
      EXPECT_THAT(missing_region_rules(row, op), ElementsAre("linearize", "body.flow"));
    });
  }
}

// The type of a value in one run of a region, from that of the op's operand or result.
Type type_in_run(Type type, const Port& port, const RegionTrips& trips) {
  if (port.flow == Flow::kSliced) type.dims.erase(type.dims.begin());
  for (size_t d = 0; port.flow == Flow::kPart && d < port.spec.dims.size(); ++d)
    type.dims[d] /= num_parts(port.spec.dims[d], Mesh{trips.axes});
  return type;
}

TEST(RegionsLaw, TypesFitTheFlow) {
  std::set<std::string> seen;
  for (const OpSample& sample : testing::all_samples()) {
    for_each_op(*traced(sample, sample.fn), [&](const OpNode& op) {
      const BodyFlow flow = flow_of(op);
      ASSERT_EQ(flow.regions.size(), op.regions.size()) << op.rules->name();
      for (size_t r = 0; r < op.regions.size(); ++r) {
        SCOPED_TRACE(fmt::format("region {} of {}", r, op.rules->name()));
        const auto& [parameters, results, trips] = flow.regions[r];
        ASSERT_EQ(parameters.size(), op.region(r).parameters().size());
        ASSERT_LE(results.size(), op.region(r).results().size());
        for (size_t i = 0; i < parameters.size(); ++i) {
          EXPECT_EQ(type_in_run(op.inputs[parameters[i].at].type(), parameters[i], trips),
                    op.region(r).parameters()[i].type());
          if (parameters[i].flow == Flow::kCarried) {
            EXPECT_EQ(op.outputs[parameters[i].carried_from], op.region(r).parameters()[i].type());
          }
        }
        for (size_t i = 0; i < results.size(); ++i) {
          EXPECT_EQ(type_in_run(op.outputs[results[i].at], results[i], trips),
                    op.region(r).results()[i].type());
        }
        seen.emplace(op.rules->name());
      }
    });
  }
  EXPECT_GE(seen.size(), 8u);
}

Values values_of(const Region& region) {
  Values out = region.parameters();
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->results()) out.push_back(t);
  }
  return out;
}

// The values of a region in all of its runs.
struct Seen {
  const Region* region = nullptr;
  RegionPath path;
  std::vector<HostTensor> values;  // in the order of values_of
  Shape trips;                     // the leading dims of each value
  std::optional<HostTensor> ran;   // none: always

  const HostTensor& all_of(const Tensor& t) const {
    const Values own = values_of(*region);
    const auto found = std::ranges::find_if(own, [&](const Tensor& v) { return same(v, t); });
    return values[static_cast<size_t>(found - own.begin())];
  }
  HostTensor at(const Tensor& t, int64_t run) const { return part_of(all_of(t), run, t.shape()); }
  int64_t num_runs() const { return Type{DType::kPred, trips}.num_elements(); }
  bool is_run(int64_t run) const {
    if (!ran) return true;
    return ran->values<bool>()[static_cast<size_t>(run / (num_runs() / ran->size()))];
  }
};

class Program {
 public:
  Program(const Region& region, const std::vector<HostTensor>& inputs, int64_t while_iterations) {
    const Observed observed =
        observe(region,
                [](const RegionPath&, const Region& own, const Copies& copies) {
                  return copies.all(values_of(own));
                },
                {.while_iterations = while_iterations});
    const std::vector<HostTensor> results = evaluate(*observed.region, inputs);
    const std::vector<HostTensor> plain = evaluate(region, inputs);
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(results[i], plain[i]) << "result " << i;
    for (const Observation& o : observed.observations) {
      Seen& seen = at(o.path);
      seen.region = o.path.empty() ? &region : &o.path.back().op->region(o.path.back().region);
      seen.values.push_back(results[o.result]);
      const Tensor value = values_of(*seen.region)[o.index];
      const Shape& dims = results[o.result].shape();
      seen.trips.assign(dims.begin(), dims.end() - value.rank());
      if (o.ran) seen.ran = results[*o.ran];
    }
  }

  // Checks the parameters of all regions against their sources. Returns how many it checked.
  int check() {
    int checked = 0;
    for (const Seen& seen : seen_) {
      if (seen.path.empty()) continue;
      const auto [op, region] = seen.path.back();
      SCOPED_TRACE(fmt::format("region {} of {}", region, op->rules->name()));
      const RegionTrips trips = trips_of(seen.path.back());
      if (trips.repeats == Repeats::kDevices) continue;  // their parameters are parts
      const int64_t in_each = trips.repeats == Repeats::kOnce ? 1 : seen.trips.back();
      for (int64_t run = 0; run < seen.num_runs(); ++run) {
        if (!seen.is_run(run)) continue;
        for (size_t p = 0; p < seen.region->parameters().size(); ++p) {
          const Tensor& parameter = seen.region->parameters()[p];
          const ParameterSource source = source_of(*op, {region, run % in_each}, p);
          EXPECT_EQ(seen.at(parameter, run),
                    value_of(seen, source, run, in_each, parameter.shape()))
              << "parameter " << p << " in run " << run;
          ++checked;
        }
      }
    }
    return checked;
  }

 private:
  Seen& at(const RegionPath& path) {
    const auto found = std::ranges::find(seen_, path, &Seen::path);
    if (found != seen_.end()) return *found;
    seen_.push_back({.path = path});
    return seen_.back();
  }

  HostTensor value_of(const Seen& seen, const ParameterSource& source, int64_t run, int64_t in_each,
                      const Shape& dims) {
    RegionPath path = seen.path;
    path.pop_back();
    const int64_t outer = run / in_each;
    if (const auto& other = source.trip) {
      path.push_back({seen.path.back().op, other->region});
      return at(path).at(source.value, outer * in_each + other->index);
    }
    const HostTensor operand = at(path).at(source.value, outer);
    return operand.shape() == dims ? operand : part_of(operand, run % in_each, dims);  // of xs
  }

  std::vector<Seen> seen_;
};

void check_sample(const OpSample& sample, const TensorFunction& fn) {
  SCOPED_TRACE(sample.op);
  const auto region = traced(sample, fn);
  const bool has_regions =
      std::ranges::any_of(region->ops(), [](const OpNode* op) { return !op->regions.empty(); });
  if (!has_regions) return;
  for (const int64_t while_iterations : {16, 2}) {
    const int checked = Program(*region, sample.inputs, while_iterations).check();
    if (sample.op != "kernel_call") {  // its region is closed
      EXPECT_GT(checked, 0);
    }
  }
}

TEST(RegionsLaw, ParametersHaveTheValuesOfTheirSources) {
  for (const OpSample& sample : testing::body_samples()) check_sample(sample, sample.fn);
}

TEST(RegionsLaw, ParametersOfGradientsHaveTheValuesOfTheirSources) {
  for (const OpSample& sample : testing::body_samples()) {
    if (sample.op == "while") continue;  // it has no reverse mode
    std::vector<HostTensor> cotangents;
    const auto forward = traced(sample, sample.fn);
    for (const Tensor& y : forward->results())
      cotangents.push_back(testing::random_tensor(y.type(), cotangents.size() + 1));
    check_sample(sample, testing::gradient_function(sample.fn, cotangents));
  }
}

TEST(RegionsLaw, ValuesOfDevicesAreStacked) {
  static const auto collectives = testing::collectives();
  for (const auto& sample : collectives) {
    SCOPED_TRACE(sample.name);
    const OpSample call{sample.name, {testing::normal_values({8, 4}, 3)}, sample.on_devices};
    Program(*traced(call, call.fn), call.inputs, 2).check();
  }
}

}  // namespace
}  // namespace axle
