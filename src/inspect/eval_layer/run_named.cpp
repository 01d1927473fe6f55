#include "inspect/eval_layer/run_named.h"

#include <unordered_set>

#include "ir/type_differences.h"
#include "lower/trace_program.h"

namespace axle {

Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<HostTensor>& arguments, const Mesh& mesh) {
  return trace_named(program_name, fn, types_of(arguments), mesh);
}

Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<Type>& arguments, const Mesh& mesh) {
  std::vector<ProgramValue> inputs, outputs;
  for (const auto& [name, type] : arguments) inputs.push_back({.name = name, .type = type});
  const TensorFunction unnamed = [&](const Values& values) {
    Tree<Tensor> named;
    for (size_t i = 0; i < values.size(); ++i) named.emplace(inputs[i].name, values[i]);
    Values results;
    for (const auto& [name, value] : fn(named)) {
      outputs.push_back({.name = name, .type = value.type()});
      results.push_back(value);
    }
    return results;
  };
  return trace_program(program_name, unnamed, inputs, outputs, mesh);
}

std::vector<std::string> unread_inputs(const Program& program) {
  std::unordered_set<Tensor, TensorHash, TensorSame> read(program.graph->results().begin(),
                                                          program.graph->results().end());
  for (const OpNode* op : program.graph->ops()) read.insert(op->inputs.begin(), op->inputs.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (!read.contains(program.graph->parameters()[i])) out.push_back(program.inputs[i].name);
  }
  return out;
}

NamedExecutable::NamedExecutable(Program program, Runtime& runtime)
    : program_(std::move(program)), runtime_(runtime), executable_(runtime.compile(program_)) {}

Tree<HostTensor> NamedExecutable::operator()(const Tree<HostTensor>& arguments) const {
  Arrays arrays;
  for (const ProgramValue& input : program_.inputs)
    arrays.push_back(runtime_.make_array(arguments.at(input.name), input.sharding, program_.mesh));
  const Arrays results = executable_->execute(arrays);
  Tree<HostTensor> out;
  for (size_t i = 0; i < results.size(); ++i)
    out.emplace(program_.outputs[i].name, results[i]->to_host());
  return out;
}

Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime) {
  return NamedExecutable(trace_named(program_name, fn, arguments), runtime)(arguments);
}

}  // namespace axle
