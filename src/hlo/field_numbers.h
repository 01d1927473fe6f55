// Field numbers of the messages of an optimised program, by the names of the fields, and numbers of
// element types.
//
// Source: hlo.proto and xla_data.proto of OpenXLA.
#pragma once

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
