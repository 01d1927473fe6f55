// The communication of an optimised program: every collective with its mesh axes, bytes, count per
// step and the layer that it belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/wire_bytes.h"

namespace axle {

struct Mesh;

/// Returns the kind of a collective's opcode: "all-gather" for "all-gather" and "all-gather-start".
/// Empty if the opcode is not a collective.
std::string_view collective_kind(std::string_view opcode);
/// Returns, for each computation of the module, whether it or one that it calls has a collective.
std::vector<bool> communicating_computations(const HloModule& module);

/// One collective instruction. A variadic collective, into which XLA has merged several, is one.
struct Collective {
  std::string kind;               // "all-gather", "all-reduce", "reduce-scatter", "all-to-all",
                                  // "collective-permute", ...
  std::vector<std::string> axes;  // mesh axes that the collective runs along (replica_groups.h)
  int64_t bytes = 0;  // on one device: of all operands or of all results, whichever is more
  int64_t count = 0;  // runs of the collective per run of the program, loops included
  // True: a loop around it has an unknown trip count, so count may be low.
  bool is_lower_bound = false;
  WireBytes wire = {};  // bytes that a device sends in one run of the collective
  bool in_loop = false;
  bool waits = false;  // true: nothing is computed while the collective runs
  /// "all-gather" or "reduce-scatter" if the compiler implements that kind by `kind`; else empty.
  std::string implemented_kind = {};
  std::string layer;  // "model/decoder/layers/layer/attention/body"; for a merged collective the
                      // layers of all operands, "model/{emb, output_norm}"
  std::string op;     // "dot_general"; for a merged collective "add + dot_general"
  bool backward = false;     // runs in the backward pass
  std::string op_name = {};  // XLA's text that layer and op were read from (op_name.h)
  /// Per operand: the number of the program's argument that the operand is a part of, such as a
  /// parameter that is gathered; -1 for a computed value.
  std::vector<int64_t> arguments = {};
  /// Per operand: the elements of its result on one device.
  std::vector<int64_t> elements = {};
  /// Per operand: the share of the argument that goes through the operand in all runs together.
  /// It is 1 if each part goes through once, as for a stacked weight whose layers a loop gathers
  /// one by one. It is 0 if the operand is computed or was gathered before.
  std::vector<double> argument_share = {};
};

/// Returns all collectives in the order of the program, including those of every branch of a
/// conditional. The start and done of an asynchronous collective count as one. Device numbers in
/// the module are positions in the row-major order of `mesh`. `fast_groups` is the output of
/// fast_groups() in device_order.h; empty: the fast network joins all devices.
std::vector<Collective> collectives(const HloModule& module, const Mesh& mesh,
                                    const std::vector<int64_t>& fast_groups = {});

/// The sum over collectives that agree in all fields but count, bytes and wire.
struct CollectiveRow {
  std::string kind;
  std::vector<std::string> axes;
  std::string layer, op;
  bool backward = false, is_lower_bound = false, in_loop = false, waits = false;
  std::string implemented_kind = {};
  std::vector<int64_t> arguments;  // sorted, without duplicates; -1 stands for computed values
  int64_t count = 0;
  int64_t bytes = 0;    // sum over all runs of the collectives in one run of the program
  WireBytes wire = {};  // the same sum
};

/// Sums collectives into rows of a table, the rows with the most bytes first.
std::vector<CollectiveRow> rows_of(const std::vector<Collective>& all);

}  // namespace axle
