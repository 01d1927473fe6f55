// Traced functions over named tensors, run on host tensors.
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

/// A program for one device whose inputs are named and typed as `arguments`. Throws what tracing
/// throws.
Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<HostTensor>& arguments);
/// Its inputs that no result depends on.
std::vector<std::string> unread_inputs(const Program& program);

/// A program that can be run again and again.
class NamedExecutable {
 public:
  /// Compiles. Throws what Runtime::compile throws.
  NamedExecutable(Program program, Runtime& runtime);
  /// Results by name. `arguments` holds all inputs by name. Throws as Executable::execute does.
  Tree<HostTensor> operator()(const Tree<HostTensor>& arguments) const;

 private:
  Program program_;
  Runtime& runtime_;
  std::unique_ptr<Executable> executable_;
};

/// trace_named, compiled and run once.
Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime);

}  // namespace axle
