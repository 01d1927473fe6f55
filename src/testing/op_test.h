// Runs ops in a test: traces a function over host tensors and interprets it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "ir/eval.h"

namespace axle::testing {

/// Returns the results of fn(arguments) on the interpreter.
inline std::vector<HostTensor> run_all(const std::function<Values(const Values&)>& fn,
                                       const std::vector<HostTensor>& arguments,
                                       const EvalOptions& options = {}) {
  Region region;
  {
    const TraceScope scope(region);
    Values parameters;
    for (const HostTensor& a : arguments) parameters.push_back(region.add_parameter(a.type()));
    region.set_results(fn(parameters));
  }
  return evaluate(region, arguments, options);
}

/// Like run_all, for functions of one result: run([](const Values& x) { return exp(x[0]); },
/// {input}).
inline HostTensor run(const std::function<Tensor(const Values&)>& fn,
                      const std::vector<HostTensor>& arguments = {},
                      const EvalOptions& options = {}) {
  return run_all([&](const Values& x) { return Values{fn(x)}; }, arguments, options)[0];
}

/// Returns the elements as doubles, in row-major order.
inline std::vector<double> elements(const HostTensor& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.size(); ++i) out.push_back(x.at(i));
  return out;
}

/// Returns 0, 1, 2, ... in row-major order, so that results show where elements came from.
inline HostTensor counting(const Shape& shape, DType dtype = DType::kF32) {
  HostTensor out(Type{DType::kI64, shape});
  int64_t next = 0;
  for (int64_t& v : out.values<int64_t>()) v = next++;
  return out.astype(dtype);
}

}  // namespace axle::testing
