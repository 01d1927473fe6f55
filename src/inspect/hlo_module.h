// An XLA program after all optimisations, as a plugin gives it: what a reader of communication
// needs of it, and no more.
//
// Source: openxla/xla, xla/service/hlo.proto and xla/xla_data.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/replica_groups.h"

namespace axle {

/// An array (`dims`) or a tuple (`elements`).
struct HloShape {
  int element_bits = 0;  // 0: a tuple, a token or opaque
  std::vector<int64_t> dims = {};
  std::vector<HloShape> elements = {};
  /// Bytes without padding; the sum over a tuple.
  int64_t num_bytes() const;
  /// Of an array; 0 for a tuple.
  int64_t num_elements() const;
};

struct HloInstruction {
  std::string name;
  std::string opcode;   // "all-gather", "while"
  std::string op_name;  // metadata: the location in our text; XLA merges and drops names
  HloShape shape;
  std::vector<size_t> operands;  // positions in the computation, all before this one
  std::vector<size_t> called;    // positions in the module, all before the computation; of a while:
                                 // body, condition
  int64_t parameter_number = 0;
  int64_t tuple_index = 0;               // of a get-tuple-element
  std::optional<int64_t> constant = {};  // of a scalar integer constant
  std::string comparison;                // "LT"
  std::string custom_call_target;        // of a custom-call
  int64_t channel_id = 0;
  bool use_global_device_ids = false;
  ReplicaGroups groups;  // empty: all devices in one
  SourceTargets source_targets;
  std::optional<int64_t> known_trip_count = {};  // of a while whose backend config tells it
};

struct HloComputation {
  std::string name;
  std::vector<HloInstruction> instructions;
  size_t root = 0;
  bool is_fusion = false;
};

struct HloModule {
  std::string name;
  std::vector<HloComputation> computations;  // callees before callers
  size_t entry = 0;
};

/// Decodes an HloModuleProto or an HloModuleProtoWithConfig (Executable::optimized_program). Throws
/// DataError for bytes that are neither.
HloModule read_hlo_module(std::string_view bytes);

}  // namespace axle
