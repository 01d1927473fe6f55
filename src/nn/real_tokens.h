// Padding: what counts tokens leaves out the positions whose segment id is 0.
#pragma once

#include <optional>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// Returns where x has tokens: bool[B, T, 1, ..] of the rank of x, which is [B, T, ..]. None: every
/// position counts. `segment_ids` are i32[B, T]; none: those of the current call
/// (Invocation::segment_ids), if x has their dims in front of others.
std::optional<Tensor> real_tokens(const Tensor& x,
                                  const std::optional<Tensor>& segment_ids = std::nullopt);

/// Returns x with zeros where it has padding.
Tensor without_padding(const Tensor& x);

/// Returns the mean over `axes`, which are kept with size 1. Only vectors where `is_real` is true
/// count; none: all do. The mean of nothing is 0.
Tensor mean_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                    const std::optional<Tensor>& is_real);

/// Returns the mean of all elements of x outside of padding: a scalar.
Tensor mean_of_tokens(const Tensor& x);

/// Returns bool[]: the current call has a token. None: every position holds one.
std::optional<Tensor> has_tokens();

}  // namespace axle
