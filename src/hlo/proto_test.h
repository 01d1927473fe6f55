// Helpers for tests that write optimised programs by hand, field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/replica_groups.h"
#include "io/proto_wire.h"

namespace axle {

inline std::string packed(const std::vector<int64_t>& values) {
  std::string out;
  for (auto v : values) {
    auto rest = static_cast<uint64_t>(v);
    for (; rest >= 0x80; rest >>= 7) out += static_cast<char>(rest | 0x80);
    out += static_cast<char>(rest);
  }
  return out;
}

/// Returns a ShapeProto. `type` is 11 for f32, 16 for bf16, 4 for s32.
inline ProtoWriter array_shape(const std::vector<int64_t>& dims, int type = 11) {
  ProtoWriter out;
  return out.varint(2, static_cast<uint64_t>(type)).bytes(3, packed(dims));
}
inline ProtoWriter tuple_shape(const std::vector<ProtoWriter>& elements) {
  ProtoWriter out;
  out.varint(2, 13);
  for (const ProtoWriter& element : elements) out.message(4, element);
  return out;
}

/// The functions below return optional fields of an HloInstructionProto.
inline ProtoWriter op_name(std::string_view name) {
  ProtoWriter metadata, out;
  return out.message(7, metadata.bytes(2, name));
}
inline ProtoWriter calls(const std::vector<int64_t>& computations) {
  ProtoWriter out;
  return out.bytes(38, packed(computations));
}
inline ProtoWriter replica_group(const std::vector<int64_t>& devices) {
  ProtoWriter out;
  return out.bytes(1, packed(devices));
}
inline ProtoWriter grouped(const ReplicaGroups& groups) {
  ProtoWriter list, out;
  for (const auto& group : groups) list.message(1, replica_group(group));
  return out.message(87, list).varint(71, 1);
}
inline ProtoWriter iota_groups(int64_t count, int64_t size, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& perm) {
  ProtoWriter out;
  return out.varint(1, static_cast<uint64_t>(count))
      .varint(2, static_cast<uint64_t>(size))
      .bytes(3, packed(dims))
      .bytes(4, packed(perm));
}
inline ProtoWriter integer(int64_t value) {
  ProtoWriter literal, out;
  return out.message(8, literal.bytes(4, packed({value})));
}
/// Writes an HloModuleProto. Callees must be added before callers; the last computation is the
/// entry.
class HloWriter {
 public:
  /// Adds an instruction to the current computation and returns its id.
  int64_t add(std::string_view opcode, const ProtoWriter& shape,
              const std::vector<int64_t>& operands = {}, const ProtoWriter& more = {}) {
    ProtoWriter out = more;
    out.bytes(1, std::string(opcode) + "." + std::to_string(next_))
        .bytes(2, opcode)
        .message(3, shape)
        .varint(35, static_cast<uint64_t>(next_))
        .bytes(36, packed(operands));
    computation_.message(2, out);
    return next_++;
  }
  int64_t parameter(const ProtoWriter& shape, int64_t number = 0) {
    ProtoWriter more;
    return add("parameter", shape, {}, more.varint(9, static_cast<uint64_t>(number)));
  }
  int64_t element(int64_t tuple, int64_t index, const ProtoWriter& shape) {
    ProtoWriter more;
    return add("get-tuple-element", shape, {tuple}, more.varint(13, static_cast<uint64_t>(index)));
  }
  /// Ends the current computation, whose root is its last instruction, and returns its id.
  int64_t end(std::string_view name, bool is_fusion = false) {
    computation_.bytes(1, name)
        .varint(5, static_cast<uint64_t>(next_computation_))
        .varint(6, static_cast<uint64_t>(next_ - 1))
        .varint(7, is_fusion);
    module_.message(3, computation_);
    computation_ = {};
    return next_computation_++;
  }
  std::string bytes() const {
    ProtoWriter out = module_;
    return out.bytes(1, "step").varint(6, static_cast<uint64_t>(next_computation_ - 1)).text();
  }

 private:
  ProtoWriter module_, computation_;
  int64_t next_ = 100, next_computation_ = 10;
};

}  // namespace axle
