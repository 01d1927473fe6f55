// The communication of an optimised program: every collective with its mesh axes, bytes, count per
// step and the layer that it belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/module.h"
#include "hlo/replica_groups.h"

namespace axle {

/// Bytes that one device sends, for the device that sends the most. It receives the same number.
struct WireBytes {
  double fast = 0, slow = 0;
  bool operator==(const WireBytes&) const = default;
};

/// Returns the wire bytes of one run of a collective.
///   bytes        size on one device of the operand or the result, whichever is larger
///   groups       the replica groups, as positions in the mesh
///   fast_groups  for each position the number of its slice or node (device_order.h); empty: the
///                fast network joins all devices
/// The count assumes algorithms that send each byte once over the slow network and distribute it
/// over the fast one. A gather or scatter over n devices moves (n - 1) / n of the bytes, an
/// all-reduce twice as much.
WireBytes wire_bytes(std::string_view kind, int64_t bytes, const ReplicaGroups& groups,
                     const std::vector<int64_t>& fast_groups);
/// Returns the wire bytes of one collective-permute.
WireBytes wire_bytes(int64_t bytes, const SourceTargets& pairs,
                     const std::vector<int64_t>& fast_groups);

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

// Checks that data dependencies alone put the collectives of a program into the same order on all
// devices.

/// Finds two communicating instructions of one computation that do not depend on each other, where
/// at least one is a loop, branch or call. Returns their names; none if there is no such pair.
///
/// XLA's CPU compiler orders such a pair by a resource that both use. A saved program loses this
/// order, because each computation gets a resource of its own (thunk_proto_serdes.cc). Devices
/// may then run the pair in different orders and wait for each other for ever.
std::optional<std::pair<std::string, std::string>> unordered_collectives(const HloModule& module);

}  // namespace axle
