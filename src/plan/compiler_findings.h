// What a compiler did beyond what it was asked for, with its cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "ir/tensor.h"

namespace axle {

/// Returns the name of a pass of a step: "forward" or "backward".
const char* pass_text(bool backward);

/// How often a whole argument of the program is gathered in one pass of a step.
struct ArgumentGathers {
  int64_t argument = 0;
  bool backward = false;
  double times = 0;
  double bytes = 0;  // of all these gathers, on one device
};
/// Returns the gathers of each argument, first of the forward pass, then of the backward pass.
std::vector<ArgumentGathers> argument_gathers(const std::vector<Collective>& all);

enum class FindingKind {
  kNote,             // anything else; see Finding::text
  kRepeatedGathers,  // arguments that are gathered more than once in a pass
  kAllReduces,       // gathers and scatters implemented by all-reduces, which send twice as much
  kPermutes,         // gathers implemented by chains of collective-permutes
  kWaiting,          // collectives in loops that no computation overlaps
  kMoves,            // values that move between devices although nothing asks for it
  kRecomputed        // instructions that the compiler computes again because memory is short
};

/// One thing that a compiler did beyond what it was asked for.
struct Finding {
  FindingKind kind = FindingKind::kNote;
  /// The whole sentence of a kNote; else empty.
  std::string text = {};
  /// The pass of kRepeatedGathers.
  bool backward = false;
  /// What the collectives of kAllReduces stand for: "all-gather" or "reduce-scatter".
  std::string collective = {};
  /// The mesh axis over which most bytes of kMoves go.
  std::string axis = {};
  /// Collectives or instructions; for kRepeatedGathers, how often an argument is gathered at most.
  double count = 0;
  /// Bytes per device; for kRepeatedGathers also those that would be enough.
  double bytes = 0, needed_bytes = 0;
  /// Parameters and layers; for kWaiting and kRecomputed, the parts of the count: "3 fusion";
  /// for kMoves, the locations with their bytes, the most bytes first.
  std::vector<std::string> names = {};

  /// True if both report the same of two programs, regardless of the amounts.
  bool is_like(const Finding& other) const;
  /// What a change is to make smaller: bytes of kRepeatedGathers that are not needed, else `count`.
  double amount() const;
};
/// Returns the sentence with its cost.
std::string to_text(const Finding& finding);
std::vector<std::string> to_texts(const std::vector<Finding>& findings);
/// Returns a few words: "402 reduce-scatters that are all-reduces".
std::string short_text(const Finding& finding);

/// Returns one finding of each kind that occurs, but no kNote and no kMoves. `arguments` holds the
/// names of the program's arguments.
std::vector<Finding> compiler_findings(const HloModule& module, const std::vector<Collective>& all,
                                       const std::vector<std::string>& arguments);

/// Returns a row for each location where data moves without being asked for, the most bytes first.
/// These are asked for:
///   an all-gather of an argument of the program, because its sharding requires the gather
///   an all-gather or all-to-all that gives a value the layout of a sharding_constraint on it
///   a collective-permute by which XLA overlaps a gather with the matrix product that uses it
///   a collective-permute over the mesh axis `pipeline`, from stage to stage
/// Other collective-permutes are reported. `graph` is the graph of the program that was compiled
/// for `mesh`.
std::vector<CollectiveRow> unasked_moves(const std::vector<Collective>& all, const Region& graph,
                                         const Mesh& mesh);
/// Returns the rows as one finding; none if there are no rows.
std::optional<Finding> moves_finding(const std::vector<CollectiveRow>& rows);

}  // namespace axle
