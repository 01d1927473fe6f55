// Vocabularies in the file format of llama2.c.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace axle {

/// ScoredPieces and their scores.
using ScoredPieces = std::vector<std::pair<std::string, float>>;

/// Returns the pieces as a file holds them after its first number.
inline std::string pieces_of_file(const ScoredPieces& pieces) {
  std::string out;
  for (const auto& [piece, score] : pieces) {
    const auto size = static_cast<int32_t>(piece.size());
    out.append(reinterpret_cast<const char*>(&score), sizeof(score))
        .append(reinterpret_cast<const char*>(&size), sizeof(size))
        .append(piece);
  }
  return out;
}

/// Returns a file with these pieces after the special ones and the bytes.
inline std::string vocabulary_file(const ScoredPieces& pieces) {
  return std::string(4, '\0') + pieces_of_file(ScoredPieces(259, {"<special>", 0})) +
         pieces_of_file(pieces);
}

}  // namespace axle
