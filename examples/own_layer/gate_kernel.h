// The channel gate as a kernel: code for the host's cores, and a fallback for all other devices.
#pragma once

#include <axle/axle.h>

/// Returns x * sigmoid(x * w).
///
/// Shapes: x [..., D], w [D] of the same float dtype -> x's.
axle::Tensor gated_by_channel(const axle::Tensor& x, const axle::Tensor& w);
