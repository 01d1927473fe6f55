#include "ir/value_map.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/process_start.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

std::string list(const std::vector<Type>& types) {
  std::string out;
  for (const Type& type : types) out += (out.empty() ? "" : ", ") + to_text(type);
  return out.empty() ? "none" : out;
}

// The row of an op checks its operands and its regions when it infers the types of the results.
void check_types(const OpNode& op) {
  const OriginScope origin(op);
  std::vector<Type> inferred;
  try {
    inferred = op.rules->row().infer(op);
  } catch (const ShapeError& error) {
    throw InternalError(
        fmt::format("{} is not what its row takes: {}", op.rules->name(), error.what()));
  }
  AXLE_CHECK(inferred == op.outputs,
             fmt::format("types of {} are not what it infers: expected {}, got {}",
                         op.rules->name(), list(inferred), list(op.outputs)));
}

}  // namespace

void verify(const Region& region) {
  ValueSet defined;
  const auto check_use = [&](const Tensor& t, std::string_view user) {
    AXLE_CHECK(
        t && defined.contains(t.node()->result()),
        fmt::format("{} uses {} which is not defined before it in its region", user, describe(t)));
    AXLE_CHECK(
        t.index() < t.node()->outputs.size(),
        fmt::format("{} uses result {} of {}", user, t.index(), describe(t.node()->result())));
  };
  for (const Tensor& p : region.parameters()) defined.insert(p);
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->inputs) check_use(t, op->rules->name());
    check_types(*op);
    for (const auto& inner : op->regions) verify(*inner);
    defined.insert(op->result());
  }
  for (const Tensor& t : region.results()) check_use(t, "return");
}

void verify_phases(const Region& region, size_t num_parameters, size_t num_results) {
  ValueSet backward(std::span(region.parameters()).subspan(num_parameters));
  const auto check_use = [&](const Tensor& t, std::string_view user) {
    AXLE_CHECK(!backward.contains(t),
               fmt::format("{} is in the forward part and uses {}, which is in the backward part",
                           user, describe(t)));
  };
  for (const OpNode* op : region.ops()) {
    if (op->phase == Phase::kBackward) {
      for (const Tensor& t : op->results()) backward.insert(t);
    } else {
      for (const Tensor& t : op->inputs) check_use(t, op->rules->name());
    }
  }
  for (const Tensor& t : std::span(region.results()).first(num_results)) check_use(t, "return");
}

namespace {
bool is_asked_to_verify() {
  static const bool asked = environment_variable("AXLE_VERIFY") == "1";
  return asked;
}
}  // namespace

void verify_if_asked(const Region& region) {
  if (is_asked_to_verify()) verify(region);
}

void verify_joint_if_asked(const Region& region, size_t num_parameters, size_t num_results) {
  if (!is_asked_to_verify()) return;
  verify(region);
  verify_phases(region, num_parameters, num_results);
}

namespace {

// Appends a text that distinguishes regions of different structure.
class Writer {
 public:
  void add(const Region& region) {
    // By id of the op: its index among the parameters and ops.
    std::vector<uint32_t> place(region.num_nodes() + 1, 0);
    uint32_t next = 0;
    add(region.parameters().size());
    for (const Tensor& p : region.parameters()) {
      place[p.node()->id] = next++;
      add(p.type());
    }
    const auto add_values = [&](const Values& values) {
      add(values.size());
      for (const Tensor& t : values) {
        add(place[t.node()->id]);
        add(t.index());
      }
    };
    add(region.ops().size());
    for (const OpNode* op : region.ops()) {
      place[op->id] = next++;
      add(op->rules->name());
      add(op->attributes ? op->attributes->text() : std::string());
      add_values(op->inputs);
      add(op->outputs.size());
      for (const Type& type : op->outputs) add(type);
      add(op->regions.size());
      for (const auto& inner : op->regions) add(*inner);
    }
    add_values(region.results());
  }
  const std::string& text() const { return text_; }

 private:
  void add(uint64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void add(std::string_view text) {
    add(text.size());
    text_.append(text);
  }
  void add(const Type& type) {
    add(static_cast<uint64_t>(type.dtype));
    add(type.dims.size());
    for (const int64_t d : type.dims) add(static_cast<uint64_t>(d));
  }
  std::string text_;
};

std::string structure_text(const Region& region) {
  Writer writer;
  writer.add(region);
  return writer.text();
}

}  // namespace

uint64_t structure_hash(const Region& region) { return xxh3_64(structure_text(region)); }

bool same_structure(const Region& a, const Region& b) {
  if (&a == &b) return true;
  return a.ops().size() == b.ops().size() && structure_text(a) == structure_text(b);
}

}  // namespace axle
