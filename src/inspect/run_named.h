// A traced function over named tensors, run once.
#pragma once

#include <functional>
#include <string>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "runtime/runtime.h"

namespace axle {

using NamedFunction = std::function<Tree<Tensor>(const Tree<Tensor>& arguments)>;

/// Traces `fn`, compiles it for one device and runs it on `arguments`. Throws what these throw.
Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime);

}  // namespace axle
