#include "inspect/eval_op/eval_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "inspect/eval_layer/cotangents.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/given_tensors.h"
#include "inspect/eval_layer/run_named.h"
#include "ir/eval.h"
#include "ops/create.h"
#include "transform/grad.h"

namespace axle {
namespace {

std::string numbered(std::string_view name, size_t i) { return fmt::format("{}{}", name, i); }

// The tensors that a case takes, by the names of the program's inputs.
class CaseTensors {
 public:
  CaseTensors(const OpCase& op, const SafetensorsFile* file) : op_(op), file_(file) {
    if (op.inputs) {
      for (const OperandSource& operand : *op.inputs) {
        operands_.push_back({.name = operand.name, .is_list = operand.is_list});
        counts_.push_back(operand.tensors.size());
        for (const TensorSource& source : operand.tensors) add_input(read(source));
      }
    } else {
      while (const auto value = find(numbered("in", num_inputs_))) {
        operands_.push_back({});
        counts_.push_back(1);
        add_input(*value);
      }
    }
    if (!op.vjp) return;
    for (const auto& [output, source] : op.cotangents)
      tensors.emplace("cotangent/" + output, read(source));
    constexpr size_t kMaxOutputs = 64;
    for (size_t i = 0; op.cotangents.empty() && i < kMaxOutputs; ++i) {
      if (const auto value = find(numbered("ct", i)))
        tensors.emplace(numbered("cotangent/", i), *value);
    }
  }

  size_t num_inputs() const { return num_inputs_; }
  /// Returns the operands of the formula that the inputs are.
  std::vector<GivenOperand> operands(const Values& inputs) const {
    std::vector<GivenOperand> out = operands_;
    size_t next = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      for (size_t n = 0; n < counts_[i]; ++n) out[i].values.push_back(inputs[next++]);
    }
    return out;
  }

  Tree<HostTensor> tensors;

 private:
  void add_input(HostTensor value) {
    tensors.emplace(numbered("in", num_inputs_++), std::move(value));
  }
  std::optional<HostTensor> find(const std::string& name) const {
    if (!file_ || !file_->contains(op_.file_name(name))) return std::nullopt;
    return read_tensor(*file_, op_.file_name(name));
  }
  HostTensor read(const TensorSource& source) const {
    if (source.value) return *source.value;
    if (!file_) {
      throw ConfigError(fmt::format(
          "{}: expected a file of inputs (inputs_file: in the case, or --inputs)", source.name));
    }
    std::optional<HostTensor> value = find(source.name);
    if (!value && file_->contains(source.name)) value = read_tensor(*file_, source.name);
    if (!value) {
      throw ConfigError(fmt::format("{}: no such tensor in the file of inputs{}", source.name,
                                    suggest(source.name, file_->names())));
    }
    if (source.shape) {
      if (num_elements(*source.shape) != value->size())
        throw ConfigError(fmt::format("{}: expected a shape of {} elements, got {}", source.name,
                                      value->size(), to_text(*source.shape)));
      value = value->reshaped(*source.shape);
    }
    return source.dtype ? value->astype(*source.dtype) : *value;
  }

  const OpCase& op_;
  const SafetensorsFile* file_;
  std::vector<GivenOperand> operands_;  // without values
  std::vector<size_t> counts_;          // number of tensors of each operand
  size_t num_inputs_ = 0;
};

// Returns the list with one entry for each of `count` values: a single entry stands for all.
template <class T>
std::vector<T> for_each_value(const std::vector<T>& given, size_t count) {
  return given.size() == 1 ? std::vector<T>(count, given[0]) : given;
}

TensorFunction function_of(const OpCase& op, const CaseTensors& tensors) {
  TensorFunction fn = [&](const Values& x) { return op.formula(tensors.operands(x)); };
  if (op.shard_map) fn = [fn, &op](const Values& x) { return shard_map(fn, x, *op.shard_map); };
  if (!op.vmap) return fn;
  return [fn, &op](const Values& x) {
    VmapOptions options = *op.vmap;
    options.in_axes = for_each_value(options.in_axes, x.size());
    // The number of outputs is known once the function is traced.
    size_t num_outputs = 0;
    const TensorFunction counted = [&](const Values& v) {
      Values y = fn(v);
      num_outputs = y.size();
      return y;
    };
    if (options.out_axes.size() != 1) return vmap(fn, x, options);
    std::vector<Type> types;
    for (size_t i = 0; i < x.size(); ++i) {
      Type type = x[i].type();
      const std::optional<int64_t> axis =
          options.in_axes.empty() ? std::optional<int64_t>(0) : options.in_axes[i];
      if (axis && type.rank() > 0)
        type.dims.erase(type.dims.begin() + (*axis < 0 ? *axis + type.rank() : *axis));
      types.push_back(type);
    }
    trace_closed(counted, types);
    options.out_axes = for_each_value(options.out_axes, num_outputs);
    return vmap(fn, x, options);
  };
}

// Returns out<i>, and grad<i> of the inputs in `values`.
Tree<Tensor> traced_results(const OpCase& op, const CaseTensors& tensors,
                            const Tree<Tensor>& values) {
  const random::PrngScope prng(op.prng);
  Values inputs;
  for (size_t i = 0; i < tensors.num_inputs(); ++i) inputs.push_back(values.at(numbered("in", i)));
  const TensorFunction fn = function_of(op, tensors);
  Tree<Tensor> out;
  std::vector<NamedOutput> outputs;
  const auto add_outputs = [&](const Values& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      outputs.push_back({.name = numbered("out", i), .value = results[i]});
      out.emplace(outputs.back().name, results[i]);
    }
  };
  if (!op.vjp) {
    add_outputs(fn(inputs));
    return out;
  }
  const Linearized f = vjp(fn, inputs);
  add_outputs(f.outputs);
  const Values gradients = f.pullback(cotangents_for(outputs, subtree(values, "cotangent")));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_differentiable(inputs[i].dtype())) continue;
    out.emplace(numbered("grad", i), gradients[i] ? gradients[i] : zeros_like(inputs[i]));
  }
  return out;
}

Tree<HostTensor> interpret_in_f64(const Program& program, const Tree<HostTensor>& arguments) {
  std::vector<HostTensor> values;
  for (const ProgramValue& input : program.inputs) values.push_back(arguments.at(input.name));
  std::vector<HostTensor> results = evaluate(*program.graph, std::move(values), {.f64 = true});
  Tree<HostTensor> out;
  for (size_t i = 0; i < results.size(); ++i)
    out.emplace(program.outputs[i].name, std::move(results[i]));
  return out;
}

bool is_result_name(std::string_view name) {
  for (const std::string_view section : {"out", "grad"}) {
    if (name.starts_with(section) && is_digits(name.substr(section.size()))) return true;
  }
  return false;
}

}  // namespace

Tree<HostTensor> eval_op(const OpCase& op, const SafetensorsFile* inputs, Runtime& runtime,
                         bool f64) {
  try {
    const CaseTensors tensors(op, inputs);
    const NamedFunction fn = [&](const Tree<Tensor>& values) {
      return traced_results(op, tensors, values);
    };
    const Mesh mesh = op.shard_map ? op.shard_map->mesh : Mesh();
    Program program = trace_named("eval_op", fn, tensors.tensors, mesh);
    if (f64) return interpret_in_f64(program, tensors.tensors);
    return NamedExecutable(std::move(program), runtime)(tensors.tensors);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", op.where, error.what()), error.code());
  }
}

void compare_op(const OpCase& op, const Tree<HostTensor>& results, const SafetensorsFile& reference,
                const ElementTolerance& tolerance, OpReport& report) {
  const ElementTolerance& limits = op.tolerance ? *op.tolerance : tolerance;
  Tree<std::string> wanted;  // results by their names in the reference
  for (const auto& [result, unused] : results) {
    if (!op.expected.contains(result)) wanted.emplace(op.file_name(result), result);
  }
  const std::string head = op.file_name("");
  for (const std::string& name : reference.names()) {
    const bool is_below = op.name.empty() || name.starts_with(op.name + "/");
    const std::string rest =
        op.name.empty() ? name : name.substr(std::min(name.size(), head.size() + 1));
    if (is_below && is_result_name(rest) && (op.vjp || !rest.starts_with("grad")) &&
        !op.expected.contains(rest))
      wanted.emplace(name, rest);
  }
  for (const auto& [result, name] : op.expected) {
    if (!reference.contains(name)) {
      throw ConfigError(fmt::format("{}: expected: no such tensor in the reference: {}{}", op.where,
                                    name, suggest(name, reference.names())));
    }
    wanted.insert_or_assign(name, result);
  }
  bool has_any = false;
  for (const auto& [name, result] : wanted) {
    if (!reference.contains(name)) {
      report.comparison.only_in_results.push_back(name);
      continue;
    }
    has_any = true;
    const HostTensor expected = read_tensor(reference, name);
    const auto it = results.find(result);
    report.comparison.tensors.push_back(
        it == results.end() ? missing_tensor(name, expected, limits)
                            : compare_tensor(name, as_scalar_like(it->second, expected.shape()),
                                             expected, limits, largest_in(expected)));
  }
  if (!has_any) {
    throw ConfigError(fmt::format("{}: expected {} in the reference, got none", op.where,
                                  wanted.empty() ? op.file_name("out0") : wanted.begin()->first));
  }
}

std::string to_text(const OpReport& report) {
  std::string out = to_text(report.comparison);
  for (const Error& failure : report.failures) out += fmt::format("failed: {}\n", failure.what());
  return out;
}

nlohmann::ordered_json to_json(const OpReport& report) {
  nlohmann::ordered_json out = to_json(report.comparison);
  out["agrees"] = report.agrees();
  out["failures"] = nlohmann::ordered_json::array();
  for (const Error& failure : report.failures) out["failures"].push_back(failure.what());
  return out;
}

}  // namespace axle
