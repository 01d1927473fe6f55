// Moving means of gradients, as Adam and its relatives keep them.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980, sections 2 and 3.
#pragma once

#include "base/tree.h"
#include "ir/tensor.h"
#include "nn/param.h"

namespace axle {

/// Returns the specs of the moving means of gradients and of their squares: "m/<path>", "v/<path>".
Tree<ParamSpec> moment_specs(const Tree<ParamSpec>& params);
/// Returns decay * mean + (1 - decay) * x.
Tensor moving_mean(double decay, const Tensor& mean, const Tensor& x);
Tensor moving_mean(const Tensor& decay, const Tensor& mean, const Tensor& x);
/// Returns 1 / (1 - decay^step), the factor that makes a moving mean that began at 0 unbiased.
/// `step` is an f32 scalar from 1 on.
Tensor bias_correction(double decay, const Tensor& step);
/// Returns the decay that makes a moving mean unbiased while it runs:
/// decay * (1 - decay^(step - 1)) / (1 - decay^step). It is 0 at step 1, so that the mean starts at
/// the first value.
///
/// Source: Shazeer & Stern 2018, arXiv 1804.04235, section 7.1.
Tensor debiased_decay(double decay, const Tensor& step);

}  // namespace axle
