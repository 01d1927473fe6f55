// Helpers for tests that write optimised programs by hand, field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/replica_groups.h"
#include "io/proto.h"

namespace axle {

namespace fields = hlo_fields;

/// The functions below return a ShapeProto.
inline ProtoWriter array_shape(const std::vector<int64_t>& dims,
                               fields::ElementType type = fields::kF32) {
  ProtoWriter out;
  return out.varint(fields::kElementType, type).packed(fields::kDimensions, dims);
}
inline ProtoWriter tuple_shape(const std::vector<ProtoWriter>& elements) {
  ProtoWriter out;
  out.varint(fields::kElementType, fields::kTuple);
  for (const ProtoWriter& element : elements) out.message(fields::kTupleShapes, element);
  return out;
}

/// The functions below return optional fields of an HloInstructionProto.
inline ProtoWriter op_name(std::string_view name) {
  ProtoWriter metadata, out;
  return out.message(fields::kMetadata, metadata.bytes(fields::kOpName, name));
}
inline ProtoWriter calls(const std::vector<int64_t>& computations) {
  ProtoWriter out;
  return out.packed(fields::kCalledComputationIds, computations);
}
inline ProtoWriter replica_group(const std::vector<int64_t>& devices) {
  ProtoWriter out;
  return out.packed(fields::kReplicaIds, devices);
}
inline ProtoWriter grouped(const ReplicaGroups& groups) {
  ProtoWriter list, out;
  for (const auto& group : groups) list.message(fields::kListedGroups, replica_group(group));
  return out.message(fields::kCollectiveDeviceList, list).varint(fields::kUseGlobalDeviceIds, 1);
}
inline ProtoWriter iota_groups(int64_t count, int64_t size, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& perm) {
  ProtoWriter out;
  return out.varint(fields::kNumGroups, static_cast<uint64_t>(count))
      .varint(fields::kGroupSize, static_cast<uint64_t>(size))
      .packed(fields::kReshapeDims, dims)
      .packed(fields::kTransposePerm, perm);
}
inline ProtoWriter integer(int64_t value) {
  ProtoWriter literal, out;
  return out.message(fields::kLiteral, literal.packed(fields::kS32s, {value}));
}
inline ProtoWriter channel(int64_t id) {
  return ProtoWriter().varint(fields::kChannelId, static_cast<uint64_t>(id));
}
inline ProtoWriter source_target(int64_t source, int64_t target) {
  return ProtoWriter().message(fields::kSourceTargetPairs,
                               ProtoWriter()
                                   .varint(fields::kSource, static_cast<uint64_t>(source))
                                   .varint(fields::kTarget, static_cast<uint64_t>(target)));
}
/// Returns the fields of `a`, then those of `b`.
inline ProtoWriter with(ProtoWriter a, const ProtoWriter& b) { return a.append(b); }

/// Writes an HloModuleProto. Callees must be added before callers; the last computation is the
/// entry.
class HloWriter {
 public:
  /// Adds an instruction to the current computation and returns its id.
  int64_t add(std::string_view opcode, const ProtoWriter& shape,
              const std::vector<int64_t>& operands = {}, const ProtoWriter& more = {}) {
    ProtoWriter out = more;
    out.bytes(fields::kName, std::string(opcode) + "." + std::to_string(next_))
        .bytes(fields::kOpcode, opcode)
        .message(fields::kShape, shape)
        .varint(fields::kId, static_cast<uint64_t>(next_))
        .packed(fields::kOperandIds, operands);
    computation_.message(fields::kInstructions, out);
    return next_++;
  }
  int64_t parameter(const ProtoWriter& shape, int64_t number = 0) {
    ProtoWriter more;
    return add("parameter", shape, {},
               more.varint(fields::kParameterNumber, static_cast<uint64_t>(number)));
  }
  int64_t element(int64_t tuple, int64_t index, const ProtoWriter& shape) {
    ProtoWriter more;
    return add("get-tuple-element", shape, {tuple},
               more.varint(fields::kTupleIndex, static_cast<uint64_t>(index)));
  }
  /// Ends the current computation, whose root is its last instruction, and returns its id.
  int64_t end(std::string_view name, bool is_fusion = false) {
    computation_.bytes(fields::kComputationName, name)
        .varint(fields::kComputationId, static_cast<uint64_t>(next_computation_))
        .varint(fields::kRootId, static_cast<uint64_t>(next_ - 1))
        .varint(fields::kIsFusionComputation, is_fusion);
    module_.message(fields::kComputations, computation_);
    computation_ = {};
    return next_computation_++;
  }
  std::string bytes() const {
    ProtoWriter out = module_;
    return out.bytes(fields::kModuleName, "step")
        .varint(fields::kEntryComputationId, static_cast<uint64_t>(next_computation_ - 1))
        .text();
  }

 private:
  ProtoWriter module_, computation_;
  int64_t next_ = 100, next_computation_ = 10;
};

}  // namespace axle
