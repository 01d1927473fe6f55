#include "inspect/eval_op/eval_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "functions/formula.h"
#include "inspect/eval_layer/compare_tensors.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/rename.h"
#include "ir/call_site.h"
#include "ir/eval.h"
#include "ops/create.h"
#include "transform/grad.h"

namespace axle {

FunctionList list_functions(const std::vector<std::string>& names) {
  FunctionList out;
  for (const std::string& name : names) {
    for (const Function* f : functions_called(name)) out.functions.push_back(f);
  }
  if (!names.empty()) return out;
  for (const Function& f : all_functions()) out.functions.push_back(&f);
  return out;
}

std::string to_text(const FunctionList& list) {
  std::string out;
  for (const Function* f : list.functions) out += f->text() + "\n";
  return out;
}

nlohmann::ordered_json to_json(const FunctionList& list) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const Function* f : list.functions) {
    Json row = {{"name", f->name},
                {"cpp_name", f->cpp_name},
                {"operands", Json::array()},
                {"attributes", Json::array()}};
    for (const Parameter& p : f->parameters) {
      if (p.kind == Parameter::Kind::kAttribute) {
        row["attributes"].push_back(
            {{"name", p.name}, {"type", p.type}, {"required", !p.default_text.has_value()}});
      } else {
        row["operands"].push_back(
            {{"name", p.name}, {"is_list", p.kind == Parameter::Kind::kTensors}});
      }
    }
    out.push_back(std::move(row));
  }
  return out;
}

namespace {

constexpr size_t kMaxOutputs = 64;

std::string numbered(std::string_view name, size_t i) { return fmt::format("{}{}", name, i); }

// The tensors that a case takes, by the names of the program's inputs. Inputs have the names of the
// user's operands, which messages show.
class CaseTensors {
 public:
  CaseTensors(const OpCase& op, const SafetensorsFile* file) : op_(op), file_(file) {
    if (op.inputs) {
      for (const OperandSource& operand : *op.inputs) {
        operands_.push_back({.name = operand.name, .is_list = operand.is_list});
        counts_.push_back(operand.tensors.size());
        const std::string name =
            operand.name.empty() ? op.formula.operand_name(operands_.size() - 1, op.inputs->size())
                                 : operand.name;
        for (size_t i = 0; i < operand.tensors.size(); ++i) {
          const bool is_element = operand.is_list && !name.empty();
          add_input(is_element ? fmt::format("{}.{}", name, i) : name, read(operand.tensors[i]));
        }
      }
    } else {
      std::vector<HostTensor> values;
      while (const auto value = find(numbered("in", values.size()))) values.push_back(*value);
      for (size_t i = 0; i < values.size(); ++i) {
        operands_.push_back({});
        counts_.push_back(1);
        add_input(op.formula.operand_name(i, values.size()), std::move(values[i]));
      }
    }
    if (!op.vjp) return;
    for (const auto& [output, source] : op.cotangents)
      tensors.emplace("cotangent/" + output, read(source));
    for (size_t i = 0; op.cotangents.empty() && i < kMaxOutputs; ++i) {
      // The second name is that of results of eval-layer, and of messages.
      for (const char* name : {"ct", "cotangent/out"}) {
        if (const auto value = find(numbered(name, i)))
          tensors.emplace(numbered("cotangent/", i), *value);
      }
    }
  }

  /// Returns the names of the inputs, in the order of the case.
  const std::vector<std::string>& names() const { return names_; }
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
  void add_input(std::string name, HostTensor value) {
    // An operand that the function does not have, or has twice, is an error later on.
    if (name.empty() || name.starts_with("cotangent/") || tensors.contains(name))
      name = numbered("in", names_.size());
    tensors.emplace(name, std::move(value));
    names_.push_back(std::move(name));
  }
  std::optional<HostTensor> find(const std::string& name) const {
    if (!file_ || !file_->contains(op_.file_name(name))) return std::nullopt;
    return read_tensor(*file_, op_.file_name(name));
  }
  HostTensor read(const CaseTensor& source) const {
    if (source.value) return *source.value;
    if (!file_) {
      throw ConfigError(fmt::format(
          "{}: expected a file of inputs (inputs_file: in the case, or --inputs)", source.name));
    }
    std::optional<HostTensor> value = find(source.name);
    if (!value && file_->contains(source.name)) value = read_tensor(*file_, source.name);
    if (!value) {
      throw DataError(fmt::format("{}: no such tensor in the file of inputs{}", source.name,
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
  std::vector<std::string> names_;      // of all inputs
};

// Names the parameters of a mapped function like the inputs, for messages.
void name_parameters(const Values& x, const std::vector<std::string>& names) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].is_parameter()) x[i].node()->parent->name_parameter(x[i], names[i]);
  }
}

// Returns the list with one entry for each of `count` values: a single entry stands for all.
template <class T>
std::vector<T> for_each_value(const std::vector<T>& given, size_t count) {
  return given.size() == 1 ? std::vector<T>(count, given[0]) : given;
}

// The axis of value i; no axes stand for dim 0 of all values.
std::optional<int64_t> axis_of(const std::vector<std::optional<int64_t>>& axes, size_t i) {
  return axes.empty() ? std::optional<int64_t>(0) : axes[i];
}

// True if each value has its axis. If not, vmap says what is wrong.
bool can_be_mapped(const Values& x, const std::vector<std::optional<int64_t>>& axes) {
  if (!axes.empty() && axes.size() != x.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    const std::optional<int64_t> axis = axis_of(axes, i);
    if (axis && (*axis >= x[i].rank() || *axis < -x[i].rank())) return false;
  }
  return true;
}

TensorFunction function_of(const OpCase& op, const CaseTensors& tensors) {
  TensorFunction fn = [&](const Values& x) {
    name_parameters(x, tensors.names());
    return op.formula(tensors.operands(x));
  };
  if (op.shard_map) fn = [fn, &op](const Values& x) { return shard_map(fn, x, *op.shard_map); };
  if (!op.vmap) return fn;
  return [fn, &op](const Values& x) {
    VmapOptions options = *op.vmap;
    options.in_axes = for_each_value(options.in_axes, x.size());
    const bool is_well_formed = can_be_mapped(x, options.in_axes);
    if (options.out_axes.size() != 1 || !is_well_formed) return vmap(fn, x, options);
    // The number of outputs is known once the function is traced.
    size_t num_outputs = 0;
    const TensorFunction counted = [&](const Values& v) {
      Values y = fn(v);
      num_outputs = y.size();
      return y;
    };
    std::vector<Type> types = types_of(x);
    for (size_t i = 0; i < x.size(); ++i) {
      const std::optional<int64_t> axis = axis_of(options.in_axes, i);
      if (axis)
        types[i].dims.erase(types[i].dims.begin() + (*axis < 0 ? *axis + x[i].rank() : *axis));
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
  for (const std::string& name : tensors.names()) inputs.push_back(values.at(name));
  const TensorFunction fn = function_of(op, tensors);
  Tree<Tensor> out;
  std::vector<NamedOutput> outputs;
  const auto add_outputs = [&](const Values& results) {
    if (results.empty())
      throw ConfigError("expected a function with results, got none; name inputs");
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

// Returns the message without what says nothing to the user of a case: that the top level called
// the function, and the name of a function whose only op has the same name.
std::string case_message(std::string_view what) {
  constexpr std::string_view kTopLevel = "the top level: ";
  if (what.starts_with(kTopLevel)) what.remove_prefix(kTopLevel.size());
  const size_t end = what.find(": ");
  if (end == what.npos) return std::string(what);
  const std::string_view rest = what.substr(end + 2);
  const bool is_again = rest.size() > end && rest.starts_with(what.substr(0, end)) &&
                        (rest[end] == ':' || rest[end] == ' ');
  return std::string(is_again ? rest : what);
}

}  // namespace

Tree<HostTensor> eval_op(const OpCase& op, const SafetensorsFile* inputs, Runtime& runtime,
                         bool f64) {
  // The calls of ops are all in this program: their lines say nothing about the case.
  const CallSiteScope calls(no_calls());
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
    throw Error(fmt::format("{}: {}", op.where, case_message(error.what())), error.code());
  }
}

bool reads_file(const OpCase& op, const SafetensorsFile& file) {
  const auto is_named = [](const CaseTensor& source) { return !source.value; };
  if (op.inputs) {
    for (const OperandSource& operand : *op.inputs) {
      if (std::ranges::any_of(operand.tensors, is_named)) return true;
    }
  } else if (file.contains(op.file_name("in0"))) {
    return true;
  }
  if (!op.vjp) return false;
  if (!op.cotangents.empty())
    return std::ranges::any_of(op.cotangents, is_named,
                               &std::pair<const std::string, CaseTensor>::second);
  for (size_t i = 0; i < kMaxOutputs; ++i) {
    if (file.contains(op.file_name(numbered("ct", i)))) return true;
  }
  return false;
}

}  // namespace axle
