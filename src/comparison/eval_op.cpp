#include "comparison/eval_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/text.h"
#include "comparison/compare_tensors.h"
#include "comparison/eval_layer_files.h"
#include "comparison/functions/formula.h"
#include "comparison/rename.h"
#include "comparison/tensor_comparison.h"
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

namespace {

using Json = nlohmann::ordered_json;

bool is_result_name(std::string_view name) {
  for (const std::string_view section : {"out", "grad"}) {
    if (name.starts_with(section) && is_digits(name.substr(section.size()))) return true;
  }
  return false;
}

// The results in the order of their numbers: out2 before out10.
std::map<std::string, const HostTensor*, NaturalOrder> in_order(const Tree<HostTensor>& tensors) {
  std::map<std::string, const HostTensor*, NaturalOrder> out;
  for (const auto& [name, value] : tensors) out.emplace(name, &value);
  return out;
}

}  // namespace

std::string CaseFailures::summary() const {
  if (errors.size() == 1) return errors[0].what();
  return fmt::format("{}: expected {} cases to run, got {} that failed; the first: {}", file,
                     num_cases, errors.size(), errors[0].what());
}

std::string to_text(const CaseFailures& failures) {
  std::string out;
  for (const Error& failure : failures.errors) out += fmt::format("failed: {}\n", failure.what());
  return out;
}

Json to_json(const CaseFailures& failures) {
  Json out = Json::array();
  for (const Error& failure : failures.errors) out.push_back(failure.what());
  return out;
}

void compare_op(const OpCase& op, const Tree<HostTensor>& results, const SafetensorsFile& reference,
                const ElementTolerance& tolerance, TensorComparison& comparison) {
  const ElementTolerance& limits = op.tolerance ? *op.tolerance : tolerance;
  std::map<std::string, std::string, NaturalOrder>
      wanted;  // results by their names in the reference
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
      comparison.only_in_results.push_back(name);
      continue;
    }
    has_any = true;
    const HostTensor expected = read_tensor(reference, name);
    const auto it = results.find(result);
    comparison.tensors.push_back(
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
  return to_text(report.comparison) + to_text(report.failures);
}

Json to_json(const OpReport& report) {
  Json out = to_json(report.comparison);
  out["agrees"] = report.agrees();
  out["failures"] = to_json(report.failures);
  return out;
}

std::string to_text(const OpResults& results) {
  constexpr int64_t kMaxPrinted = 16;  // elements of a tensor
  std::string out;
  if (!results.file.empty()) {
    out += results.file + "\n";
  } else {
    for (const auto& [name, value] : in_order(results.tensors))
      out += fmt::format("{} {}\n", name, tensor_text(*value, kMaxPrinted));
  }
  return out + to_text(results.failures);
}

Json to_json(const OpResults& results) {
  Json rows = Json::array();
  for (const auto& [name, value] : in_order(results.tensors)) {
    rows.push_back({{"name", name}, {"dtype", name_of(value->dtype())}, {"shape", value->shape()}});
    if (!results.file.empty()) continue;
    Json& values = rows.back()["values"] = Json::array();
    for (int64_t i = 0; i < value->size(); ++i) values.push_back(element_json(*value, i));
  }
  Json out = Json::object();
  if (!results.file.empty()) out["output"] = results.file;
  out["results"] = std::move(rows);
  out["failures"] = to_json(results.failures);
  return out;
}

void keep_cases(const std::vector<std::string>& names, OpCases& file) {
  if (names.empty()) return;
  std::set<std::string> known;  // two cases may have one name
  for (const OpCase& c : file.cases) known.insert(c.name);
  for (const BrokenCase& c : file.broken) known.insert(c.name);
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    known.erase("");
    const std::vector<std::string> candidates(known.begin(), known.end());
    throw ConfigError(fmt::format("--only: no such case: {}{}", name, suggest(name, candidates)));
  }
  const auto is_left_out = [&](const auto& c) { return !std::ranges::count(names, c.name); };
  std::erase_if(file.cases, is_left_out);
  std::erase_if(file.broken, is_left_out);
}

void check_is_read(const SafetensorsFile& inputs, const OpCases& file) {
  const auto reads = [&](const OpCase& op) { return reads_file(op, inputs); };
  if (!file.broken.empty() || std::ranges::any_of(file.cases, reads)) return;
  throw ConfigError(fmt::format("--inputs: {}: expected a tensor that a case of {} reads, got none",
                                file.inputs, file.path));
}

OpRun run_op_cases(const OpCases& file, const OpRunOptions& options, Runtime& runtime) {
  OpRun out;
  out.failures.file = file.path;
  out.failures.num_cases = file.cases.size() + file.broken.size();
  for (const BrokenCase& broken : file.broken) out.failures.errors.push_back(broken.error);
  for (const OpCase& op : file.cases) {
    try {
      const Tree<HostTensor> results = eval_op(op, options.inputs, runtime, options.f64);
      for (const auto& [name, value] : results) out.tensors.emplace(op.file_name(name), value);
      if (options.reference)
        compare_op(op, results, *options.reference, options.tolerance, out.comparison);
    } catch (const Error& error) {
      out.failures.errors.push_back(error);
    }
  }
  return out;
}

void check_run(const OpRun& run) {
  const std::string differ = run.comparison.agrees() ? "" : run.comparison.summary();
  if (run.failures.errors.empty()) {
    if (!differ.empty()) throw Error(differ, ExitCode::kValidationFailed);
    return;
  }
  throw Error(run.failures.summary() + (differ.empty() ? "" : "; " + differ),
              run.failures.errors[0].code());
}

}  // namespace axle
