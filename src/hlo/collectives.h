// What an optimised program sends between devices: every collective with its mesh axes, bytes,
// count per step and the layer that caused it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/wire_bytes.h"
#include "ir/mesh.h"

namespace axle {

/// "all-gather" of the opcodes "all-gather" and "all-gather-start"; empty for what is no
/// collective.
std::string_view collective_kind(std::string_view opcode);

/// One collective instruction. A variadic one, in which XLA has merged several, is one.
struct Collective {
  std::string kind;               // "all-gather", "all-reduce", "reduce-scatter", "all-to-all",
                                  // "collective-permute", ...
  std::vector<std::string> axes;  // that it runs along (replica_groups.h)
  int64_t bytes = 0;      // on one device: of all operands or of all results, whichever is more
  int64_t count = 0;      // per run of the program, loops included
  bool at_least = false;  // the count: some loop around it has no known number of iterations
  WireBytes wire = {};    // that a device sends in one run of it
  bool in_loop = false;
  bool waits = false;  // nothing is computed while it runs
  /// "all-gather" or "reduce-scatter" where the compiler does its work by another kind; else empty.
  std::string in_place_of = {};
  std::string layer;  // "model/decoder/layers/layer/attention/body"; of merged ones those of all
                      // operands, "model/{emb, output_norm}"
  std::string op;     // "dot_general"; of merged ones "add + dot_general"
  bool backward = false;     // runs in the backward pass
  std::string op_name = {};  // where layer and op come from, as XLA writes it (op_name.h)
  /// By operand: number of the program's argument of which it sends a part, or -1 for a computed
  /// value. A gathered parameter has its number here.
  std::vector<int64_t> arguments = {};
  /// By operand: elements of its result on one device.
  std::vector<int64_t> elements = {};
  /// By operand: which share of an argument goes into it in all its runs, each part once: 1 for a
  /// weight whose layers a loop gathers one by one. 0 for what is computed or was gathered before.
  std::vector<double> argument_share = {};
};

/// All collectives in the order of the program, asynchronous ones once, every branch of a
/// conditional. Device numbers of the module are positions in the row-major order of `mesh`;
/// `fast_groups` tells how these are joined (wire_bytes.h).
std::vector<Collective> collectives(const HloModule& module, const Mesh& mesh,
                                    const std::vector<int64_t>& fast_groups = {});

/// Collectives alike in kind, axes, layer, op, pass, what they send and how.
struct CollectiveRow {
  std::string kind;
  std::vector<std::string> axes;
  std::string layer, op;
  bool backward = false, at_least = false, in_loop = false, waits = false;
  std::string in_place_of = {};
  std::vector<int64_t> arguments;  // sorted, each once; -1 stands for computed values
  int64_t count = 0;
  int64_t bytes = 0;    // per run of the program, all together
  WireBytes wire = {};  // the same
};

/// Rows of a table, those with the most bytes first.
std::vector<CollectiveRow> rows_of(const std::vector<Collective>& all);

}  // namespace axle
