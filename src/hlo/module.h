// An XLA program after all optimisations, as a plugin returns it. It holds only what the readers of
// its communication, work and memory need.
//
// Source: openxla/xla, xla/service/hlo.proto and xla/xla_data.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/replica_groups.h"

namespace axle {

/// An array (`dims`) or a tuple (`elements`).
struct HloShape {
  int element_bits = 0;                // 0: a tuple, a token or an opaque type
  std::string_view element_type = {};  // "bf16"
  std::vector<int64_t> dims = {};
  std::vector<HloShape> elements = {};
  /// Memory space of an array; 0 is the device's main memory.
  int64_t memory_space = 0;
  /// Returns the bytes of an array, without padding, or the sum over a tuple's elements.
  int64_t num_bytes() const;
  /// Returns the number of elements of an array; 0 for a tuple.
  int64_t num_elements() const;
};

/// Returns "bf16[4,4096]" or "(f32[2], s32[])".
std::string to_text(const HloShape& shape);

/// One spatial dim of a convolution's window.
struct HloWindowDim {
  int64_t size = 1, stride = 1, padding_low = 0, padding_high = 0, window_dilation = 1,
          base_dilation = 1;
};

/// The roles of the dims of a convolution's operands and result.
struct HloConvolution {
  std::vector<HloWindowDim> window = {};
  int64_t kernel_input_feature = 0;
  std::vector<int64_t> input_spatial = {}, kernel_spatial = {}, output_spatial = {};
};

struct HloInstruction {
  std::string name;
  std::string opcode;   // "all-gather", "while"
  std::string op_name;  // metadata: the location in the StableHLO; XLA may merge or drop names
  HloShape shape;
  std::vector<size_t> operands;  // positions in the computation, all before this instruction
  std::vector<size_t> called;    // positions in the module, all before this computation; for a
                                 // while: body, condition
  int64_t parameter_number = 0;
  int64_t tuple_index = 0;               // of a get-tuple-element
  std::optional<int64_t> constant = {};  // of a scalar integer constant
  std::string comparison;                // "LT"
  std::string custom_call_target;        // of a custom-call
  int64_t channel_id = 0;
  bool use_global_device_ids = false;
  ReplicaGroups groups;  // empty: one group of all devices
  SourceTargets source_targets;
  std::optional<int64_t> known_trip_count = {};  // of a while, from its backend_config
  std::string backend_config;                    // as the compiler wrote it, mostly JSON
  std::vector<int64_t> lhs_contracting;          // contracting dims of a dot's first operand
  HloConvolution convolution;                    // of a convolution
};

struct HloComputation {
  std::string name;
  std::vector<HloInstruction> instructions;
  size_t root = 0;
  bool is_fusion = false;
  std::vector<size_t> sequence = {};  // schedule: positions of the instructions in the order in
                                      // which they run; without a schedule, the given order
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

// Field numbers of the messages of an optimised program, by the names of the fields, and numbers of
// element types.
//
// Source: hlo.proto and xla_data.proto of OpenXLA.

namespace axle::hlo_fields {

enum ModuleWithConfig { kModule = 1, kConfig = 2 };
enum Module {
  kModuleName = 1,
  kComputations = 3,
  kEntryComputationId = 6,
  kSchedule = 7,
  kPayloads = 22
};
enum Computation {
  kComputationName = 1,
  kInstructions = 2,
  kComputationId = 5,
  kRootId = 6,
  kIsFusionComputation = 7
};
enum Instruction {
  kName = 1,
  kOpcode = 2,
  kShape = 3,
  kMetadata = 7,
  kLiteral = 8,
  kParameterNumber = 9,
  kTupleIndex = 13,
  kWindow = 15,
  kConvolutionDimensionNumbers = 16,
  kChannelId = 26,
  kCustomCallTarget = 28,
  kDotDimensionNumbers = 30,
  kId = 35,
  kOperandIds = 36,
  kCalledComputationIds = 38,
  kBackendConfig = 43,
  kReplicaGroups = 49,
  kSourceTargetPairs = 52,
  kComparisonDirection = 63,
  kUseGlobalDeviceIds = 71,
  kCollectiveDeviceList = 87,
  kIotaCollectiveDeviceList = 92,
  kMeshAxesReplicaGroupList = 93,
  kBackendConfigPayload = 99,
};
enum Shape { kElementType = 2, kDimensions = 3, kTupleShapes = 4, kLayout = 5 };
enum ElementType { kPred = 1, kS8 = 2, kS32 = 4, kU32 = 8, kF32 = 11, kTuple = 13, kBF16 = 16 };
enum Layout { kMemorySpace = 8 };
enum Metadata { kOpName = 2 };
enum Window { kWindowDimensions = 1 };
enum WindowDimension {
  kSize = 1,
  kStride = 2,
  kPaddingLow = 3,
  kPaddingHigh = 4,
  kWindowDilation = 5,
  kBaseDilation = 6
};
enum ConvolutionDimensions {
  kKernelInputFeature = 3,
  kKernelSpatial = 6,
  kInputSpatial = 11,
  kOutputSpatial = 12
};
enum DotDimensions { kLhsContracting = 1 };
enum Literal { kS32s = 4, kS64s = 5, kU32s = 6, kU64s = 7 };
enum SourceTarget { kSource = 1, kTarget = 2 };
enum ReplicaGroup { kReplicaIds = 1 };
enum IotaGroups { kNumGroups = 1, kGroupSize = 2, kReshapeDims = 3, kTransposePerm = 4 };
enum MeshGroups { kMesh = 1, kAxes = 2 };
enum Mesh { kMeshAxes = 1, kDeviceIds = 2, kIotaTransform = 3 };
enum MeshAxis { kAxisName = 1, kAxisSize = 2 };
enum AxisRef { kAxisIndex = 1, kSubAxis = 2 };
enum SubAxis { kPreSize = 1, kSubAxisSize = 2 };
enum Transform { kTransformDims = 1, kTransformPerm = 2 };
enum Schedule { kSequences = 1, kSequenceKey = 1, kSequenceValue = 2, kSequenceIds = 1 };
enum DeviceList { kListedGroups = 1, kIotaGroups = 2 };
enum Payload { kPayloadText = 1, kPayloadNumber = 2 };

}  // namespace axle::hlo_fields
