#include "hlo/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text/json.h"
#include "io/proto.h"

namespace axle {
namespace {

namespace fields = hlo_fields;

using Positions = std::unordered_map<int64_t, size_t>;  // id -> position

struct ElementType {
  std::string_view name;
  int bits;
};
// Indexed by element type (xla.PrimitiveType). Tuples, tokens and opaque types have 0 bits.
constexpr ElementType kTypes[] = {
    {"", 0},           {"pred", 8},       {"s8", 8},     {"s16", 16},
    {"s32", 32},       {"s64", 64},       {"u8", 8},     {"u16", 16},
    {"u32", 32},       {"u64", 64},       {"f16", 16},   {"f32", 32},
    {"f64", 64},       {"", 0},           {"", 0},       {"c64", 64},
    {"bf16", 16},      {"", 0},           {"c128", 128}, {"f8e5m2", 8},
    {"f8e4m3fn", 8},   {"s4", 4},         {"u4", 4},     {"f8e4m3b11fnuz", 8},
    {"f8e5m2fnuz", 8}, {"f8e4m3fnuz", 8}, {"s2", 2},     {"u2", 2},
    {"f8e4m3", 8},     {"f8e3m4", 8},     {"s1", 1},     {"u1", 1},
    {"f4e2m1fn", 4},   {"f8e8m0fnu", 8},
};

ElementType element_type(int64_t primitive_type) {
  const auto type = static_cast<size_t>(primitive_type);
  return type < std::size(kTypes) ? kTypes[type] : ElementType{};
}

int64_t read_number(std::string_view message, int number, std::string_view where) {
  int64_t out = 0;
  ProtoReader reader(message, where);
  while (const auto field = reader.next()) {
    if (field->number == number) out = field->varint();
  }
  return out;
}

HloShape read_shape(std::string_view bytes, int depth = 0) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest)
    throw DataError(
        fmt::format("ShapeProto: expected at most {} nested tuples, got more", kDeepest));
  HloShape out;
  ProtoReader reader(bytes, "ShapeProto");
  while (const auto field = reader.next()) {
    if (field->number == fields::kElementType) {
      const ElementType type = element_type(field->varint());
      out.element_type = type.name;
      out.element_bits = type.bits;
    }
    if (field->number == fields::kDimensions) field->append_to(out.dims);
    if (field->number == fields::kTupleShapes)
      out.elements.push_back(read_shape(field->bytes(), depth + 1));
    if (field->number == fields::kLayout)
      out.memory_space = read_number(field->bytes(), fields::kMemorySpace, "LayoutProto");
  }
  return out;
}

std::string read_string(std::string_view message, int number, std::string_view where) {
  std::string out;
  ProtoReader reader(message, where);
  while (const auto field = reader.next()) {
    if (field->number == number) out = field->bytes();
  }
  return out;
}

std::vector<int64_t> read_numbers(std::string_view message, int number, std::string_view where) {
  std::vector<int64_t> out;
  ProtoReader reader(message, where);
  while (const auto field = reader.next()) {
    if (field->number == number) field->append_to(out);
  }
  return out;
}

HloWindowDim read_window_dim(std::string_view message) {
  HloWindowDim out;
  ProtoReader reader(message, "WindowDimension");
  while (const auto field = reader.next()) {
    if (field->number == fields::kSize) out.size = field->varint();
    if (field->number == fields::kStride) out.stride = field->varint();
    if (field->number == fields::kPaddingLow) out.padding_low = field->varint();
    if (field->number == fields::kPaddingHigh) out.padding_high = field->varint();
    if (field->number == fields::kWindowDilation) out.window_dilation = field->varint();
    if (field->number == fields::kBaseDilation) out.base_dilation = field->varint();
  }
  return out;
}

std::vector<HloWindowDim> read_window(std::string_view message) {
  std::vector<HloWindowDim> out;
  ProtoReader reader(message, "Window");
  while (const auto field = reader.next()) {
    if (field->number == fields::kWindowDimensions) out.push_back(read_window_dim(field->bytes()));
  }
  return out;
}

void read_convolution_dims(std::string_view message, HloConvolution& out) {
  ProtoReader reader(message, "ConvolutionDimensionNumbers");
  while (const auto field = reader.next()) {
    if (field->number == fields::kKernelInputFeature) out.kernel_input_feature = field->varint();
    if (field->number == fields::kKernelSpatial) field->append_to(out.kernel_spatial);
    if (field->number == fields::kInputSpatial) field->append_to(out.input_spatial);
    if (field->number == fields::kOutputSpatial) field->append_to(out.output_spatial);
  }
}

// Returns the value of a LiteralProto that holds one integer; none for other literals.
std::optional<int64_t> read_integer(std::string_view literal) {
  std::vector<int64_t> values;
  ProtoReader reader(literal, "LiteralProto");
  while (const auto field = reader.next()) {
    if (field->number >= fields::kS32s && field->number <= fields::kU64s) field->append_to(values);
  }
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

std::pair<int64_t, int64_t> read_source_target(std::string_view message) {
  std::pair<int64_t, int64_t> out{0, 0};
  ProtoReader reader(message, "SourceTarget");
  while (const auto field = reader.next()) {
    if (field->number == fields::kSource) out.first = field->varint();
    if (field->number == fields::kTarget) out.second = field->varint();
  }
  return out;
}

// Reads listed groups, or iota groups, which older XLA wrote here and newer XLA into field 92 of
// the instruction.
ReplicaGroups read_device_list(std::string_view message) {
  ReplicaGroups out;
  ProtoReader reader(message, "CollectiveDeviceListProto");
  while (const auto field = reader.next()) {
    if (field->number == fields::kListedGroups) out.push_back(decode_group(field->bytes()));
    if (field->number == fields::kIotaGroups) return decode_iota_groups(field->bytes());
  }
  return out;
}

// Reads the trip count from {"known_trip_count": {"n": "2"}, ...}; none if it is not there.
std::optional<int64_t> trip_count_in(std::string_view backend_config) {
  try {
    const auto document = read_json(backend_config);
    const auto known = JsonView(document).find("known_trip_count");
    const auto n = known ? known->find("n") : std::nullopt;
    if (!n) return std::nullopt;
    const std::string text = n->json().is_string() ? n->text() : n->json().dump();
    const char* end = text.data() + text.size();
    int64_t count = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    return error == std::errc() && rest == end && count >= 0 ? std::optional(count) : std::nullopt;
  } catch (const JsonError&) {
    return std::nullopt;  // a backend_config need not be JSON
  }
}

// Texts that the instructions of a module share, by index.
using Payloads = std::vector<std::string_view>;

std::string_view read_payload(std::string_view message, const Payloads& payloads) {
  std::string_view out;
  ProtoReader reader(message, "Payload");
  while (const auto field = reader.next()) {
    if (field->number == fields::kPayloadText) out = field->bytes();
    if (field->number == fields::kPayloadNumber &&
        static_cast<uint64_t>(field->varint()) < payloads.size())
      out = payloads[field->varint()];
  }
  return out;
}

size_t position(const Positions& positions, int64_t id, std::string_view what,
                std::string_view who) {
  const auto found = positions.find(id);
  if (found != positions.end()) return found->second;
  throw DataError(
      fmt::format("HLO instruction '{}': expected {} before it, got id {}", who, what, id));
}

HloInstruction read_instruction(std::string_view bytes, const Payloads& payloads,
                                const Positions& computations, Positions& instructions) {
  HloInstruction out;
  int64_t id = 0;
  std::vector<int64_t> operands, called;
  std::string_view backend_config;
  ProtoReader reader(bytes, "HloInstructionProto");
  while (const auto field = reader.next()) {
    switch (field->number) {
      case fields::kName:
        out.name = field->bytes();
        break;
      case fields::kOpcode:
        out.opcode = field->bytes();
        break;
      case fields::kShape:
        out.shape = read_shape(field->bytes());
        break;
      case fields::kMetadata:
        out.op_name = read_string(field->bytes(), fields::kOpName, "OpMetadata");
        break;
      case fields::kLiteral:
        out.constant = read_integer(field->bytes());
        break;
      case fields::kParameterNumber:
        out.parameter_number = field->varint();
        break;
      case fields::kTupleIndex:
        out.tuple_index = field->varint();
        break;
      case fields::kWindow:
        out.convolution.window = read_window(field->bytes());
        break;
      case fields::kConvolutionDimensionNumbers:
        read_convolution_dims(field->bytes(), out.convolution);
        break;
      case fields::kChannelId:
        out.channel_id = field->varint();
        break;
      case fields::kCustomCallTarget:
        out.custom_call_target = field->bytes();
        break;
      case fields::kDotDimensionNumbers:
        out.lhs_contracting =
            read_numbers(field->bytes(), fields::kLhsContracting, "DotDimensionNumbers");
        break;
      case fields::kId:
        id = field->varint();
        break;
      case fields::kOperandIds:
        field->append_to(operands);
        break;
      case fields::kCalledComputationIds:
        field->append_to(called);
        break;
      case fields::kBackendConfig:
        backend_config = field->bytes();
        break;
      case fields::kReplicaGroups:
        out.groups.push_back(decode_group(field->bytes()));
        break;
      case fields::kSourceTargetPairs:
        out.source_targets.push_back(read_source_target(field->bytes()));
        break;
      case fields::kComparisonDirection:
        out.comparison = field->bytes();
        break;
      case fields::kUseGlobalDeviceIds:
        out.use_global_device_ids = field->varint() != 0;
        break;
      case fields::kCollectiveDeviceList:
        if (auto groups = read_device_list(field->bytes()); !groups.empty())
          out.groups = std::move(groups);
        break;
      case fields::kIotaCollectiveDeviceList:
        out.groups = decode_iota_groups(field->bytes());
        break;
      case fields::kMeshAxesReplicaGroupList:
        out.groups = decode_mesh_groups(field->bytes());
        break;
      case fields::kBackendConfigPayload:
        backend_config = read_payload(field->bytes(), payloads);
        break;
      default:
        break;
    }
  }
  for (const int64_t operand : operands)
    out.operands.push_back(position(instructions, operand, "an operand", out.name));
  for (const int64_t computation : called)
    out.called.push_back(position(computations, computation, "a computation", out.name));
  if (out.opcode == "while") {
    out.known_trip_count = trip_count_in(backend_config);
    if (out.called.size() != 2 || out.operands.size() != 1)
      throw DataError(
          fmt::format("HLO while '{}': expected body, condition and one operand, got {} "
                      "computations and {} operands",
                      out.name, out.called.size(), out.operands.size()));
  }
  out.backend_config = backend_config;
  instructions.emplace(id, instructions.size());
  return out;
}

// The content of an HloScheduleProto: the order of a computation's instructions, by computation id.
using Schedule = std::unordered_map<int64_t, std::vector<int64_t>>;

Schedule read_schedule(std::string_view message) {
  Schedule out;
  ProtoReader reader(message, "HloScheduleProto");
  while (const auto entry = reader.next()) {
    if (entry->number != fields::kSequences) continue;
    int64_t id = 0;
    std::vector<int64_t> order;
    ProtoReader pair(entry->bytes(), "HloScheduleProto entry");
    while (const auto field = pair.next()) {
      if (field->number == fields::kSequenceKey) id = field->varint();
      if (field->number == fields::kSequenceValue)
        order = read_numbers(field->bytes(), fields::kSequenceIds, "InstructionSequence");
    }
    out[id] = std::move(order);
  }
  return out;
}

// Returns the scheduled order of a computation's instructions. If there is no schedule, or it does
// not hold each instruction exactly once, returns the order of the instructions as given.
std::vector<size_t> sequence_of(const Positions& instructions, const Schedule& schedule,
                                int64_t computation) {
  std::vector<size_t> out(instructions.size());
  std::iota(out.begin(), out.end(), size_t{0});
  const auto order = schedule.find(computation);
  if (order == schedule.end() || order->second.size() != instructions.size()) return out;
  std::vector<size_t> told;
  std::vector<bool> seen(out.size());
  for (const int64_t id : order->second) {
    const auto found = instructions.find(id);
    if (found == instructions.end() || seen[found->second]) return out;
    seen[found->second] = true;
    told.push_back(found->second);
  }
  return told;
}

HloComputation read_computation(std::string_view bytes, const Payloads& payloads,
                                const Schedule& schedule, Positions& computations) {
  HloComputation out;
  int64_t id = 0, root = 0;
  Positions instructions;
  ProtoReader reader(bytes, "HloComputationProto");
  while (const auto field = reader.next()) {
    switch (field->number) {
      case fields::kComputationName:
        out.name = field->bytes();
        break;
      case fields::kInstructions:
        out.instructions.push_back(
            read_instruction(field->bytes(), payloads, computations, instructions));
        break;
      case fields::kComputationId:
        id = field->varint();
        break;
      case fields::kRootId:
        root = field->varint();
        break;
      case fields::kIsFusionComputation:
        out.is_fusion = field->varint() != 0;
        break;
      default:
        break;
    }
  }
  if (instructions.size() != out.instructions.size())
    throw DataError(
        fmt::format("HLO computation '{}': expected {} different instruction ids, got {}", out.name,
                    out.instructions.size(), instructions.size()));
  out.root = position(instructions, root, "a root", out.name);
  out.sequence = sequence_of(instructions, schedule, id);
  if (!computations.emplace(id, computations.size()).second)
    throw DataError(
        fmt::format("HLO computation '{}': expected a unique id, got {} twice", out.name, id));
  return out;
}

// Returns the HloModuleProto within `bytes`, which are either that message or an
// HloModuleProtoWithConfig around it.
std::string_view unwrap(std::string_view bytes) {
  std::string_view module;
  ProtoReader reader(bytes, "HLO module");
  while (const auto field = reader.next()) {
    if (field->number == fields::kComputations) return bytes;
    if (field->number == fields::kModule) module = field->bytes();
  }
  return module;
}

}  // namespace

int64_t HloShape::num_elements() const {
  int64_t out = element_bits == 0 ? 0 : 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(out, dim, &out))
      throw DataError(fmt::format(
          "HLO shape: expected dims whose product is a valid size, got a dim of {}", dim));
  }
  return out;
}

int64_t HloShape::num_bytes() const {
  int64_t bits = 0, bytes = 0;
  bool fits = !__builtin_mul_overflow(num_elements(), element_bits, &bits);
  bytes = bits / 8 + (bits % 8 != 0);
  for (const HloShape& element : elements)
    fits = !__builtin_add_overflow(bytes, element.num_bytes(), &bytes) && fits;
  if (!fits) throw DataError("HLO shape: expected at most 2^63 bits, got more");
  return bytes;
}

std::string to_text(const HloShape& shape) {
  if (shape.elements.empty())
    return fmt::format("{}[{}]", shape.element_type, fmt::join(shape.dims, ","));
  std::vector<std::string> elements;
  for (const HloShape& element : shape.elements) elements.push_back(to_text(element));
  return fmt::format("({})", fmt::join(elements, ", "));
}

HloModule read_hlo_module(std::string_view bytes) {
  bytes = unwrap(bytes);
  HloModule out;
  Payloads payloads;
  std::vector<std::string_view> computations;
  std::optional<int64_t> entry;
  Schedule schedule;
  ProtoReader reader(bytes, "HloModuleProto");
  while (const auto field = reader.next()) {
    switch (field->number) {
      case fields::kModuleName:
        out.name = field->bytes();
        break;
      case fields::kComputations:
        computations.push_back(field->bytes());
        break;
      case fields::kEntryComputationId:
        entry = field->varint();
        break;
      case fields::kSchedule:
        schedule = read_schedule(field->bytes());
        break;
      case fields::kPayloads:
        payloads.push_back(field->bytes());
        break;
      default:
        break;
    }
  }
  Positions positions;
  for (const std::string_view computation : computations)
    out.computations.push_back(read_computation(computation, payloads, schedule, positions));
  const auto found = positions.find(entry.value_or(0));
  if (found == positions.end())
    throw DataError(fmt::format("HLO module '{}': expected an entry among {} computations, got {}",
                                out.name, computations.size(),
                                entry ? fmt::format("id {}", *entry) : "none"));
  out.entry = found->second;
  return out;
}

}  // namespace axle
