#include "hlo/work.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "hlo/collectives.h"
#include "hlo/value_origins.h"

namespace axle {
namespace {

bool is_one_of(std::string_view opcode, std::span<const std::string_view> opcodes) {
  return std::ranges::find(opcodes, opcode) != opcodes.end();
}

// True if an instruction reads and writes no memory itself: names, views, calls, collectives and
// the done half of asynchronous pairs.
bool moves_nothing(const HloInstruction& instruction) {
  static constexpr std::array kOpcodes =
      std::to_array<std::string_view>({"parameter",
                                       "constant",
                                       "tuple",
                                       "get-tuple-element",
                                       "bitcast",
                                       "while",
                                       "call",
                                       "conditional",
                                       "async-start",
                                       "async-update",
                                       "async-done",
                                       "copy-done",
                                       "all-gather-done",
                                       "all-reduce-done",
                                       "collective-permute-done",
                                       "optimization-barrier",
                                       "after-all",
                                       "partition-id",
                                       "replica-id",
                                       "domain",
                                       "add-dependency",
                                       "iota",
                                       "rng-get-and-update-state",
                                       "send-done",
                                       "recv-done"});
  return is_one_of(instruction.opcode, kOpcodes) || !collective_kind(instruction.opcode).empty();
}

double elements_of(const HloShape& shape) {
  // A product may return a tuple of its result and a workspace.
  const HloShape& array = shape.elements.empty() ? shape : shape.elements[0];
  return static_cast<double>(array.num_elements());
}

int64_t main_memory_bytes(const HloShape& shape) {
  if (shape.elements.empty()) return shape.memory_space == 0 ? shape.num_bytes() : 0;
  int64_t out = 0;
  for (const HloShape& element : shape.elements) out += main_memory_bytes(element);
  return out;
}

// Returns the number of (output position, window position) pairs that hit an element of the input,
// not padding or a gap of dilation, along one spatial dim.
double pairs_of(const HloWindowDim& window, int64_t input, int64_t output) {
  const int64_t stride = std::max<int64_t>(window.stride, 1),
                base = std::max<int64_t>(window.base_dilation, 1),
                dilation = std::max<int64_t>(window.window_dilation, 1);
  int64_t pairs = 0;
  for (int64_t k = 0; k < window.size; ++k) {
    const int64_t offset = k * dilation - window.padding_low, last = (input - 1) * base;
    if (base == 1) {
      const int64_t from = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
      const int64_t to = last < offset ? -1 : std::min(output - 1, (last - offset) / stride);
      pairs += std::max<int64_t>(to - from + 1, 0);
      continue;
    }
    for (int64_t out = 0; out < output; ++out) {
      const int64_t at = out * stride + offset;
      if (at >= 0 && at <= last && at % base == 0) ++pairs;
    }
  }
  return static_cast<double>(pairs);
}

class Work {
 public:
  Work(const HloModule& module, const DeviceRates& rates)
      : module_(module), rates_(rates), origins_(module), flops_(module.computations.size(), -1) {}

  DeviceWork all() {
    DeviceWork out;
    std::vector<double> runs(module_.computations.size());
    runs[module_.entry] = 1;
    // Callers come after callees. Going backwards, the number of runs of a computation is known
    // when the loop reaches it.
    for (size_t c = module_.computations.size(); c-- > 0;) {
      if (runs[c] == 0 || module_.computations[c].is_fusion) continue;
      const auto& instructions = module_.computations[c].instructions;
      for (size_t i = 0; i < instructions.size(); ++i) {
        add(c, i, runs[c], out);
        if (instructions[i].opcode == "fusion" || !runs_called_computations(instructions[i]))
          continue;
        double times = runs[c];
        if (instructions[i].opcode == "while") {
          const auto trips = origins_.trip_count(c, i);
          out.is_lower_bound |= !trips;
          times *= static_cast<double>(trips.value_or(1));
        }
        // The computation that an all-reduce calls is its reduction, which does not count.
        if (!collective_kind(instructions[i].opcode).empty()) continue;
        for (const size_t callee : instructions[i].called) runs[callee] += times;
      }
    }
    return out;
  }

 private:
  void add(size_t c, size_t i, double runs, DeviceWork& out) const {
    const HloInstruction& instruction = module_.computations[c].instructions[i];
    if (moves_nothing(instruction)) return;
    const double flops = flops_of(c, i), bytes = bytes_of(c, i);
    const double compute = rates_.flops > 0 ? flops / rates_.flops : 0,
                 memory = rates_.memory_bytes > 0 ? bytes / rates_.memory_bytes : 0;
    out.product_flops += runs * flops;
    out.memory_bytes += runs * bytes;
    out.compute_seconds += runs * compute;
    out.memory_seconds += runs * memory;
    out.seconds += runs * std::max(compute, memory);
  }

  const HloShape& operand(size_t c, const HloInstruction& instruction, size_t n) const {
    return module_.computations[c].instructions[instruction.operands[n]].shape;
  }

  static double contracted(const HloShape& lhs, const std::vector<int64_t>& dims) {
    double out = 1;
    for (const int64_t d : dims) {
      if (d >= 0 && static_cast<size_t>(d) < lhs.dims.size())
        out *= static_cast<double>(lhs.dims[d]);
    }
    return out;
  }

  // Returns the contracting dims of a cuBLAS call, which are in its backend_config.
  static std::vector<int64_t> contracting_of_call(const HloInstruction& instruction) {
    const auto json = nlohmann::json::parse(instruction.backend_config, nullptr, false);
    const nlohmann::json::json_pointer where(
        "/gemm_backend_config/dot_dimension_numbers/lhs_contracting_dimensions");
    std::vector<int64_t> out;
    if (!json.is_object() || !json.contains(where) || !json[where].is_array()) return out;
    for (const auto& dim : json[where])
      out.push_back(dim.is_string() ? std::atoll(dim.get_ref<const std::string&>().c_str())
                                    : dim.get<int64_t>());
    return out;
  }

  double convolution_flops(size_t c, const HloInstruction& instruction) const {
    const HloShape &input = operand(c, instruction, 0), &kernel = operand(c, instruction, 1);
    const HloConvolution& conv = instruction.convolution;
    double out =
        2 * elements_of(instruction.shape) * contracted(kernel, {conv.kernel_input_feature});
    for (size_t d = 0; d < conv.window.size(); ++d) {
      if (d >= conv.input_spatial.size() || d >= conv.output_spatial.size()) break;
      const auto size = [&](const HloShape& shape, int64_t dim) {
        return static_cast<size_t>(dim) < shape.dims.size() ? shape.dims[dim] : 1;
      };
      const int64_t places = size(instruction.shape, conv.output_spatial[d]);
      out *= pairs_of(conv.window[d], size(input, conv.input_spatial[d]), places) /
             static_cast<double>(std::max<int64_t>(places, 1));
    }
    return out;
  }

  double flops_of(size_t c, size_t i) const {
    const HloInstruction& instruction = module_.computations[c].instructions[i];
    const std::string& opcode = instruction.opcode;
    if (opcode == "fusion") {
      double out = 0;
      for (const size_t callee : instruction.called) out += fused_flops(callee);
      return out;
    }
    if (instruction.operands.size() < 2) return 0;
    if (opcode == "dot")
      return 2 * elements_of(instruction.shape) *
             contracted(operand(c, instruction, 0), instruction.lhs_contracting);
    if (opcode == "convolution") return convolution_flops(c, instruction);
    const std::string& target = instruction.custom_call_target;
    if (target.find("gemm") == target.npos && target.find("matmul") == target.npos) return 0;
    const auto dims = contracting_of_call(instruction);
    return dims.empty()
               ? 0
               : 2 * elements_of(instruction.shape) * contracted(operand(c, instruction, 0), dims);
  }

  double fused_flops(size_t c) const {
    if (flops_[c] >= 0) return flops_[c];
    double out = 0;
    for (size_t i = 0; i < module_.computations[c].instructions.size(); ++i) out += flops_of(c, i);
    return flops_[c] = out;
  }

  // Returns the bytes that a fused computation reads of a value of this shape: the slices if only
  // slices of it are used, also by a fusion inside of it, else all. What is updated in place is not
  // read.
  int64_t read_bytes(const HloComputation& fused, size_t value, const HloShape& shape) const {
    static constexpr std::array kSameElements =
        std::to_array<std::string_view>({"bitcast", "reshape", "transpose", "copy", "convert"});
    static constexpr std::array kSlices =
        std::to_array<std::string_view>({"dynamic-slice", "slice", "gather"});
    int64_t out = 0;
    for (size_t i = value + 1; i < fused.instructions.size(); ++i) {
      const HloInstruction& user = fused.instructions[i];
      const auto at = std::ranges::find(user.operands, value);
      if (at == user.operands.end()) continue;
      const bool is_first = at == user.operands.begin();
      if (i != fused.root && is_one_of(user.opcode, kSameElements)) {
        out += read_bytes(fused, i, shape);
      } else if (is_first && is_one_of(user.opcode, kSlices)) {
        out += user.shape.num_elements() * shape.element_bits / 8;
      } else if (user.opcode == "fusion" && !user.called.empty()) {
        const auto number = static_cast<size_t>(at - user.operands.begin());
        out += operand_bytes(user.called[0], number, shape);
      } else if (!is_first || user.opcode != "dynamic-update-slice") {
        return shape.num_bytes();
      }
    }
    return std::min(out, shape.num_bytes());
  }

  // Returns the bytes that a fusion reads of its operand with this number.
  int64_t operand_bytes(size_t callee, size_t number, const HloShape& shape) const {
    if (!shape.elements.empty() || shape.memory_space != 0) return main_memory_bytes(shape);
    const HloComputation& fused = module_.computations[callee];
    int64_t out = 0;
    for (size_t i = 0; i < fused.instructions.size(); ++i) {
      const HloInstruction& instruction = fused.instructions[i];
      if (instruction.opcode == "parameter" &&
          instruction.parameter_number == static_cast<int64_t>(number))
        out += read_bytes(fused, i, shape);
    }
    return out;
  }

  // Returns the bytes that a fusion writes of a result of this shape: only the update if it updates
  // an operand in place, else all.
  static int64_t written_bytes(const HloComputation& fused, size_t result, const HloShape& shape) {
    const HloInstruction& made = fused.instructions[result];
    if (made.opcode == "tuple" && made.operands.size() == shape.elements.size()) {
      int64_t out = 0;
      for (size_t e = 0; e < shape.elements.size(); ++e)
        out += written_bytes(fused, made.operands[e], shape.elements[e]);
      return out;
    }
    if (made.opcode == "bitcast" && !made.operands.empty())
      return written_bytes(fused, made.operands[0], shape);
    const int64_t all = main_memory_bytes(shape);
    if (made.opcode != "dynamic-update-slice" || made.operands.size() < 2) return all;
    const HloShape& update = fused.instructions[made.operands[1]].shape;
    return std::min(all, update.num_elements() * shape.element_bits / 8);
  }

  double bytes_of(size_t c, size_t i) const {
    const HloInstruction& instruction = module_.computations[c].instructions[i];
    const std::string& opcode = instruction.opcode;
    if (opcode == "fusion" && !instruction.called.empty()) {
      const HloComputation& fused = module_.computations[instruction.called[0]];
      int64_t out = written_bytes(fused, fused.root, instruction.shape);
      for (size_t n = 0; n < instruction.operands.size(); ++n)
        out += operand_bytes(instruction.called[0], n, operand(c, instruction, n));
      return static_cast<double>(out);
    }
    if (opcode == "dynamic-slice" || opcode == "slice" || opcode == "gather")
      return 2.0 * static_cast<double>(main_memory_bytes(instruction.shape));
    if (opcode == "dynamic-update-slice" && instruction.operands.size() > 1)
      return 2.0 * static_cast<double>(main_memory_bytes(operand(c, instruction, 1)));
    if (opcode == "copy-start" && !instruction.shape.elements.empty())
      return static_cast<double>(main_memory_bytes(instruction.shape.elements[0]) +
                                 main_memory_bytes(operand(c, instruction, 0)));
    int64_t out = main_memory_bytes(instruction.shape);
    for (size_t n = 0; n < instruction.operands.size(); ++n)
      out += main_memory_bytes(operand(c, instruction, n));
    return static_cast<double>(out);
  }

  const HloModule& module_;
  DeviceRates rates_;
  HloValueOrigins origins_;
  mutable std::vector<double> flops_;  // cache of fused_flops by computation; -1: not computed yet
};

}  // namespace

DeviceWork device_work(const HloModule& module, const DeviceRates& rates) {
  return Work(module, rates).all();
}

}  // namespace axle
