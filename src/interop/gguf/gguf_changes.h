// Changes of tensors between GGUF files and those of Hugging Face, both ways.
#pragma once

#include "interop/gguf/gguf_names.h"
#include "ir/host_tensor.h"

namespace axle {

/// Whether a tensor of this shape can be changed so: one that can't is of a wrong shape. `head_dim`
/// is the number of rows of a head.
bool can_change(TensorChange change, const Shape& shape, int64_t head_dim);
/// Returns the shape there; the change is its own opposite.
Shape changed(TensorChange change, Shape shape);
/// Returns the tensor of a GGUF file as Hugging Face stores it.
HostTensor from_gguf(TensorChange change, HostTensor tensor, int64_t head_dim);
/// Returns the tensor of Hugging Face as a GGUF file stores it.
HostTensor to_gguf(TensorChange change, HostTensor tensor, int64_t head_dim);

}  // namespace axle
