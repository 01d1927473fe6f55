#include "hlo/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "hlo/op_name.h"
#include "hlo/value_origins.h"

namespace axle {
namespace {

// The buffers that a value holds: one for an array, or the buffers of a tuple's elements. A buffer
// is an index into Lifetimes::buffers(); kNone is a buffer that does not count.
constexpr size_t kNone = static_cast<size_t>(-1);
struct Held {
  size_t buffer = kNone;
  std::vector<Held> elements = {};
};

struct Buffer {
  size_t computation, instruction;
  const HloShape* shape;
  int64_t bytes;
  size_t first, last;  // lifetime, as positions in the computation's sequence
  bool is_counted = true;
  std::vector<HloResult> carried = {};  // the elements of loops that it is
  std::vector<size_t> users = {};       // instructions that read it
};

// True if the result shares the memory of the first operand, perhaps under another shape.
bool is_view(std::string_view opcode) {
  static constexpr std::array kOpcodes =
      std::to_array<std::string_view>({"bitcast", "optimization-barrier", "all-reduce-done",
                                       "async-update", "domain", "add-dependency", "while"});
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

// True if the instruction renames a value without reading it. Such a use does not extend a buffer's
// lifetime; otherwise all elements of a tuple would live as long as one of them.
bool is_name_alone(std::string_view opcode) {
  return opcode == "get-tuple-element" || opcode == "tuple" || opcode == "bitcast";
}

bool is_done_of_pair(std::string_view opcode) {
  return opcode == "all-gather-done" || opcode == "collective-permute-done" ||
         opcode == "async-done" || opcode == "copy-done";
}

template <class Function>
void for_each_buffer(const Held& held, const Function& function) {
  if (held.buffer != kNone) function(held.buffer);
  for (const Held& element : held.elements) for_each_buffer(element, function);
}

// The buffers that one computation makes and their lifetimes.
class Lifetimes {
 public:
  Lifetimes(const HloModule& module, size_t computation)
      : module_(module), index_(computation), computation_(module.computations[computation]) {
    held_.resize(computation_.instructions.size());
    for (size_t place = 0; place < computation_.sequence.size(); ++place) {
      const size_t i = computation_.sequence[place];
      if (!is_name_alone(computation_.instructions[i].opcode)) {
        for (const size_t operand : computation_.instructions[i].operands)
          for_each_buffer(held_[operand], [&](size_t b) {
            buffers_[b].last = place;
            buffers_[b].users.push_back(i);
          });
      }
      held_[i] = hold(i, place);
      if (computation_.instructions[i].opcode == "while") note_carried(i);
    }
    // The results of a computation (the carry of a loop, the results of the program) lie in memory
    // that its caller has counted.
    for_each_buffer(held_[computation_.root], [&](size_t b) { buffers_[b].is_counted = false; });
  }
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  Held make(size_t i, const HloShape& shape, size_t place) {
    Held out;
    if (!shape.elements.empty()) {
      for (const HloShape& element : shape.elements)
        out.elements.push_back(make(i, element, place));
      return out;
    }
    const int64_t bytes = shape.num_bytes();
    if (bytes == 0 || shape.memory_space != 0) return out;
    out.buffer = buffers_.size();
    buffers_.push_back({index_, i, &shape, bytes, place, place});
    return out;
  }

  void note_carried(size_t loop) {
    const std::vector<Held>& elements = held_[loop].elements;
    for (size_t n = 0; n < elements.size(); ++n) {
      if (elements[n].buffer != kNone)
        buffers_[elements[n].buffer].carried.push_back({index_, loop, {static_cast<int64_t>(n)}});
    }
  }

  Held operand(const HloInstruction& instruction, size_t n) const {
    return n < instruction.operands.size() ? held_[instruction.operands[n]] : Held{};
  }

  static Held element(const Held& held, size_t n) {
    return n < held.elements.size() ? held.elements[n] : Held{};
  }

  // Returns the operand whose memory the result of an in-place update reuses; none for other
  // instructions.
  std::optional<size_t> updated_operand(const HloInstruction& instruction) const {
    if (instruction.opcode == "dynamic-update-slice") return 0;
    if (instruction.opcode != "fusion" || instruction.called.empty()) return std::nullopt;
    const auto& inner = module_.computations[instruction.called[0]];
    const HloInstruction* at = &inner.instructions[inner.root];
    const auto first = [&] { return &inner.instructions[at->operands[0]]; };
    while ((at->opcode == "bitcast" || at->opcode == "copy") && !at->operands.empty()) at = first();
    if (at->opcode != "dynamic-update-slice" || at->operands.empty()) return std::nullopt;
    at = first();
    while (at->opcode == "bitcast" && !at->operands.empty()) at = first();
    if (at->opcode != "parameter") return std::nullopt;
    return static_cast<size_t>(at->parameter_number);
  }

  Held hold(size_t i, size_t place) {
    const HloInstruction& instruction = computation_.instructions[i];
    const std::string& opcode = instruction.opcode;
    if (opcode == "parameter" || opcode == "constant" || opcode == "iota") return {};
    if (opcode == "tuple") {
      Held out;
      for (size_t n = 0; n < instruction.operands.size(); ++n)
        out.elements.push_back(operand(instruction, n));
      return out;
    }
    if (opcode == "get-tuple-element")
      return element(operand(instruction, 0), static_cast<size_t>(instruction.tuple_index));
    if (is_view(opcode)) return operand(instruction, 0);
    // The tuple of a start instruction holds the operand first and the result second. The tuple of
    // copy-start holds the result first.
    if (opcode == "copy-done") return element(operand(instruction, 0), 0);
    if (is_done_of_pair(opcode)) return element(operand(instruction, 0), 1);
    if (opcode.ends_with("-start") && opcode != "all-reduce-start" &&
        instruction.shape.elements.size() > 1) {
      Held out;
      const size_t result = opcode == "copy-start" ? 0 : 1;
      for (size_t n = 0; n < instruction.shape.elements.size(); ++n)
        out.elements.push_back(n == result ? make(i, instruction.shape.elements[n], place)
                               : n < 2     ? operand(instruction, 0)
                                           : Held{});
      return out;
    }
    if (const auto updated = updated_operand(instruction)) {
      const Held out = operand(instruction, *updated);
      if (out.buffer != kNone) return out;
    }
    return make(i, instruction.shape, place);
  }

  const HloModule& module_;
  size_t index_;
  const HloComputation& computation_;
  std::vector<Held> held_;
  std::vector<Buffer> buffers_;
};

// The memory peak of a computation.
struct Peak {
  int64_t bytes = 0;
  std::vector<Buffer> alive = {};
};

bool runs_in_sequence(const HloModule& module, const HloInstruction& instruction) {
  return runs_called_computations(instruction) && instruction.opcode != "fusion" &&
         !instruction.called.empty() && !module.computations[instruction.called[0]].is_fusion &&
         (instruction.opcode == "while" || instruction.opcode == "call" ||
          instruction.opcode == "conditional" || instruction.opcode == "async-start");
}

Peak peak_of(const HloModule& module, size_t computation, const std::vector<Peak>& called) {
  const HloComputation& c = module.computations[computation];
  const Lifetimes lifetimes(module, computation);
  std::vector<int64_t> change(c.sequence.size() + 1);
  for (const Buffer& buffer : lifetimes.buffers()) {
    if (!buffer.is_counted) continue;
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  const auto inner_of = [&](size_t place) {
    const HloInstruction& instruction = c.instructions[c.sequence[place]];
    const Peak* most = nullptr;
    if (!runs_in_sequence(module, instruction)) return most;
    for (const size_t callee : instruction.called) {
      if (!most || called[callee].bytes > most->bytes) most = &called[callee];
    }
    return most;
  };
  size_t place_of_most = 0;
  Peak out;
  int64_t alive = 0;
  for (size_t place = 0; place < c.sequence.size(); ++place) {
    alive += change[place];
    const Peak* inner = inner_of(place);
    const int64_t total = alive + (inner ? inner->bytes : 0);
    if (total <= out.bytes) continue;
    out.bytes = total;
    place_of_most = place;
  }
  if (out.bytes == 0) return out;
  for (const Buffer& buffer : lifetimes.buffers()) {
    if (buffer.is_counted && buffer.first <= place_of_most && place_of_most <= buffer.last)
      out.alive.push_back(buffer);
  }
  if (const Peak* inner = inner_of(place_of_most))
    out.alive.insert(out.alive.end(), inner->alive.begin(), inner->alive.end());
  return out;
}

bool names_a_layer(const std::vector<OpLocation>& locations) {
  return std::ranges::any_of(locations, [](const OpLocation& location) {
    return !location.layer.empty() && !is_loop_or_barrier(location);
  });
}

// True if it is a layer of the model, not the model itself.
bool names_a_part(const std::vector<OpLocation>& locations) {
  return std::ranges::any_of(locations, [](const OpLocation& location) {
    return location.layer.find('/') != std::string::npos && !is_loop_or_barrier(location);
  });
}

// A value in the search for the layer of what a loop adds up.
struct Look {
  const HloComputation* computation;
  size_t instruction;
  bool is_in_loop;
};

// Adds what a loop makes of an element of its carry.
void look_into(const HloModule& module, const HloInstruction& loop, int64_t element,
               std::vector<Look>& ahead) {
  if (loop.opcode != "while") return;
  const HloComputation& body = module.computations[loop.called[0]];
  const HloInstruction& results = body.instructions[body.root];
  const auto at = static_cast<size_t>(element);
  if (results.opcode == "tuple" && at < results.operands.size())
    ahead.push_back({&body, results.operands[at], true});
}

// Returns where the nearest of the values was made of which a loop makes one of its results; none
// if no way without a layer leads into a loop. The sum of the gradients of several microbatches,
// and their mean, have the name of the model, the summands the names of layers.
std::vector<OpLocation> summand_of(const HloModule& module, std::vector<Look> ahead) {
  constexpr size_t kMaxLooks = 32;
  for (size_t i = 0; i < std::min(ahead.size(), kMaxLooks); ++i) {
    const auto [computation, position, is_in_loop] = ahead[i];
    const HloInstruction& one = computation->instructions[position];
    if (auto made = op_locations(one.op_name); names_a_part(made)) {
      if (is_in_loop) return made;
      continue;  // what another layer made is not a sum of the loop's
    }
    if (one.opcode == "get-tuple-element") {
      look_into(module, computation->instructions[one.operands[0]], one.tuple_index, ahead);
      continue;
    }
    if (one.opcode == "fusion") {
      const HloComputation& fused = module.computations[one.called[0]];
      ahead.push_back({&fused, fused.root, is_in_loop});
    }
    for (const size_t operand : one.operands) ahead.push_back({computation, operand, is_in_loop});
  }
  return {};
}

// Returns where a buffer comes from. The compiler fills a stack with zeros under no name, or that
// of the loop: then the origin is what the loop writes into it, or else what reads the buffer.
std::vector<OpLocation> origin_of(const Buffer& buffer, const HloModule& module,
                                  const HloValueOrigins& values) {
  const std::vector<OpLocation> own =
      op_locations(values.op_name({buffer.computation, buffer.instruction}));
  if (names_a_part(own)) return own;
  std::vector<OpLocation> written;
  for (const HloResult& carried : buffer.carried) {
    auto one = op_locations(values.op_name(carried));
    if (names_a_part(one)) return one;
    if (names_a_layer(one)) written = std::move(one);
  }
  const HloComputation& computation = module.computations[buffer.computation];
  std::vector<Look> ahead{{&computation, buffer.instruction, false}};
  for (const HloResult& carried : buffer.carried) {
    const HloComputation& around = module.computations[carried.computation];
    look_into(module, around.instructions[carried.instruction], carried.elements.at(0), ahead);
  }
  if (auto made = summand_of(module, std::move(ahead)); !made.empty()) return made;
  if (names_a_layer(own)) return own;
  if (!written.empty()) return written;
  for (const size_t user : buffer.users) {
    auto read = op_locations(computation.instructions[user].op_name);
    if (names_a_layer(read)) return read;
  }
  return own;
}

}  // namespace

PeakMemory peak_memory(const HloModule& module) {
  std::vector<Peak> peaks(module.computations.size());
  for (size_t c = 0; c < module.computations.size(); ++c) {
    if (!module.computations[c].is_fusion) peaks[c] = peak_of(module, c, peaks);
  }
  const Peak& whole = peaks[module.entry];
  const HloValueOrigins values(module);
  using Key = std::tuple<std::string, std::string, bool, std::string>;
  std::map<Key, TemporaryBuffer> by_origin;
  for (const Buffer& buffer : whole.alive) {
    const HloInstruction& instruction =
        module.computations[buffer.computation].instructions[buffer.instruction];
    const std::vector<OpLocation> locations = origin_of(buffer, module, values);
    TemporaryBuffer one{.layer = layer_text(locations),
                        .op = op_text(locations),
                        .backward = std::ranges::any_of(locations, &OpLocation::backward),
                        .shape = to_text(*buffer.shape)};
    if (one.op.empty()) one.op = instruction.opcode;
    TemporaryBuffer& sum =
        by_origin.try_emplace({one.layer, one.op, one.backward, one.shape}, one).first->second;
    ++sum.count;
    sum.bytes += buffer.bytes;
  }
  PeakMemory out{.bytes = whole.bytes};
  for (auto& [key, one] : by_origin) out.temporaries.push_back(std::move(one));
  std::ranges::stable_sort(out.temporaries, std::greater{}, &TemporaryBuffer::bytes);
  return out;
}

}  // namespace axle
