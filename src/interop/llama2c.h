// Reads weights of llama2.c (Karpathy) in its first format: its trainer's export "version 0".
//
// Layout, little-endian:
//   i32  model dim, hidden dim, layers, query heads, key/value heads,
//        vocabulary (negative: the classifier does not share the embedding), longest sequence
//   f32  embedding; then, each for all layers together: attention norms, q, k, v, o,
//        feed-forward norms, w1 (gate), w2 (down), w3 (up); then last norm, cosines and sines of
//        positions, and the classifier if it does not share the embedding
// Matrices are stored as [outputs, inputs].
#pragma once

#include <filesystem>

#include "interop/foreign_model.h"

namespace axle {

/// Throws DataError naming file and offset if the file is missing, cut off, too long or has an
/// impossible header.
ImportedModel read_llama2c(const std::filesystem::path& path);

/// Does the same for what the file begins with, and reads no more.
void check_llama2c_header(const std::filesystem::path& path);

}  // namespace axle
