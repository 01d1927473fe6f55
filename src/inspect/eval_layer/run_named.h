// Runs traced functions over named tensors on host tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "runtime/runtime.h"

namespace axle {

using NamedFunction = std::function<Tree<Tensor>(const Tree<Tensor>& arguments)>;

/// Traces a program for the mesh, without one for one device, whose inputs are named and typed as
/// `arguments`. Throws what tracing throws.
Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<Type>& arguments, const Mesh& mesh = {});
Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<HostTensor>& arguments, const Mesh& mesh = {});
/// Returns the names of the inputs that no result depends on.
std::vector<std::string> unread_inputs(const Program& program);

/// A compiled program with named inputs and results, which can be run repeatedly.
class NamedExecutable {
 public:
  /// Compiles the program. Throws what Runtime::compile throws.
  NamedExecutable(Program program, Runtime& runtime);
  /// Runs the program and returns its results by name. `arguments` must hold all inputs by name.
  /// Throws as Executable::execute does.
  Tree<HostTensor> operator()(const Tree<HostTensor>& arguments) const;

 private:
  Program program_;
  Runtime& runtime_;
  std::unique_ptr<Executable> executable_;
};

/// Traces the function with trace_named, compiles it and runs it once.
Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime);

}  // namespace axle
