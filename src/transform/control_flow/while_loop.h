// Loops whose number of iterations is not known before they run.
#pragma once

#include <functional>

#include "ir/tensor.h"

namespace axle {

/// Computes a pred scalar from the carry.
using WhileCondition = std::function<Tensor(const Values& carry)>;
/// Computes the next carry.
using WhileBody = std::function<Values(const Values& carry)>;

/// carry = body(carry) as long as condition(carry); returns the last carry. Both functions may use
/// outer tensors. Under vmap the loop runs as long as any example does.
///
/// Has forward mode (jvp): the condition decides by the carry alone, as it does without tangents.
/// Has no reverse mode, which would have to keep values of all iterations: use scan, fori_loop or
/// bounded_while. Throws ShapeError if the types of the carry change, or if the condition is no
/// pred scalar.
Values while_loop(const WhileCondition& condition, const WhileBody& body, const Values& init);

/// Like while_loop, but at most `max_steps` iterations. It can be differentiated. It always costs
/// max_steps iterations; those after the last one pass the carry on.
Values bounded_while(const WhileCondition& condition, const WhileBody& body, const Values& init,
                     int64_t max_steps);

/// carry = body(i, carry) for i = begin .. end-1, as i32 scalars. It can be differentiated.
Values fori_loop(int64_t begin, int64_t end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init);
/// The same with bounds that are i32 scalars. Has forward mode only, as while_loop.
Values fori_loop(const Tensor& begin, const Tensor& end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init);

}  // namespace axle
