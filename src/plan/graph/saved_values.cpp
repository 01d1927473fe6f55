#include "plan/graph/saved_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/text/text_table.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"
#include "plan/graph/walk_ops.h"
#include "transform/bodies.h"
#include "transform/partition.h"

namespace axle {
namespace {

bool has_one_body(const OpNode& op) { return op.regions.size() == 1; }

// Returns the number of the first port that stands for operand or result `at` of the op.
std::optional<size_t> port_of(const std::vector<Port>& ports, size_t at) {
  const auto found = std::ranges::find(ports, at, &Port::at);
  if (found == ports.end()) return std::nullopt;
  return static_cast<size_t>(found - ports.begin());
}

// Ops that return their operand.
bool is_annotation(const OpNode& op) {
  return op.inputs.size() == 1 && (!tag_of(op).empty() || constraint_of(op) || memory_of(op));
}

// Values that cheap ops (reshape, convert, name, ...) make of one value.
class Views {
 public:
  explicit Views(const Tensor& value) : views_{value} {}
  bool has_operand_of(const OpNode& op) const {
    return std::ranges::any_of(op.inputs, [&](const Tensor& t) { return views_.contains(t); });
  }
  // Adds the results of an op that has a view as its operand. Returns false for an op that makes
  // something else of it.
  bool add(const OpNode& op) {
    if (!op.rules->row().traits.cheap && !op.rules->row().traits.is_kept_apart) return false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!views_.contains(op.inputs[i])) continue;
      // A barrier returns its operands one by one.
      views_.insert(Tensor(&op, op.outputs.size() > 1 ? static_cast<uint32_t>(i) : 0));
    }
    return true;
  }

 private:
  std::unordered_set<Tensor, TensorHash, TensorSame> views_;
};

// Adds the names that forward ops of `region` set for `value` and for views of it.
void add_names(const Region& region, const Tensor& value, std::set<std::string>& names) {
  Views views(value);
  for (const OpNode* op : region.ops()) {
    if (op->phase == Phase::kBackward || !views.has_operand_of(*op)) continue;
    views.add(*op);
    if (!tag_of(*op).empty()) names.emplace(tag_of(*op));
  }
}

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// Describes the op that computes `t`, a value of `region`, also if it is in the body of the op that
// returns `t`.
void describe_origin(const Region& step, Tensor t, SavedValue& out) {
  const Region* region = &step;
  std::set<std::string> names;  // of the value and its parts
  while (!t.is_parameter()) {
    const OpNode& op = *t.node();
    if (out.name.empty()) out.name = tag_of(op);
    add_names(*region, t, names);
    if (has_one_body(op)) {
      const BodyFlow flow = flow_of(op);
      const std::vector<Port>& results = flow.regions[0].results;
      const std::optional<size_t> port = port_of(results, t.index());
      if (!port) break;
      if (results[*port].flow == Flow::kSliced) out.iterations = op.outputs[t.index()].dims[0];
      region = &op.region();
      t = region->results()[*port];
    } else if (is_annotation(op)) {
      out.is_on_host |= memory_of(op) == Memory::kHost;
      t = op.inputs[0];
    } else {
      break;
    }
  }
  if (out.name.empty()) out.name = joined(names);
  out.op = t.is_parameter() ? "argument of a body" : std::string(t.node()->rules->name());
  out.layer = layer_of(*t.node());
}

// Returns the first op in `region` that reads `value` or a view of it and for which `counts` holds.
template <class Counts>
const OpNode* first_reader(const Region& region, const Tensor& value, const Counts& counts) {
  Views views(value);
  for (const OpNode* op : region.ops()) {
    if (views.has_operand_of(*op) && !views.add(*op) && counts(*op)) return op;
  }
  return nullptr;
}

void describe_reader(const Region& step, const Tensor& value, SavedValue& out) {
  const OpNode* reader =
      first_reader(step, value, [](const OpNode& op) { return op.phase == Phase::kBackward; });
  Tensor read = value;
  const Region* region = &step;
  std::set<std::string> names;  // of a value that the forward pass itself does not read
  while (reader && has_one_body(*reader)) {
    out.reader = reader->rules->name();
    out.reader_layer = layer_of(*reader);
    const BodyFlow flow = flow_of(*reader);
    const std::vector<Port>& parameters = flow.regions[0].parameters;
    const auto port = std::ranges::find_if(
        parameters, [&](const Port& p) { return same(reader->inputs[p.at], read); });
    if (port == parameters.end()) return;  // it reads something made of the value
    region = &reader->region();
    read = region->parameters()[static_cast<size_t>(port - parameters.begin())];
    add_names(*region, read, names);
    if (out.name.empty()) out.name = joined(names);
    reader = first_reader(*region, read, [](const OpNode&) { return true; });
  }
  if (!reader) return;
  out.reader = reader->rules->name();
  out.reader_layer = layer_of(*reader);
}

// Returns the operand of a loop that a parameter of its body stands for.
Tensor operand_of(const OpNode& loop, const Tensor& parameter) {
  const std::vector<Tensor>& all = loop.region().parameters();
  const auto at = std::ranges::find_if(all, [&](const Tensor& p) { return same(p, parameter); });
  return loop.inputs[flow_of(loop).regions[0].parameters[at - all.begin()].at];
}

std::string where(const std::string& layer) { return layer.empty() ? "-" : layer; }

}  // namespace

double SavedValues::bytes(Memory memory) const {
  double sum = 0;
  for (const SavedValue& value : values) {
    if (!value.is_argument && value.is_on_host == (memory == Memory::kHost))
      sum += static_cast<double>(value.type.num_bytes());
  }
  return sum;
}

SavedValues saved_values(const Region& step, const std::string& layer) {
  SavedValues out;
  const OpNode* const loop = loop_over_parts(step);
  const Region& region = differentiated_region(step);
  for (const Tensor& t : read_by_backward(region)) {
    SavedValue value{.type = t.type()};
    if (t.is_parameter()) {
      value.is_argument = true;
      value.op = layer_of(*(loop ? operand_of(*loop, t) : t).node());  // of a parameter: its name
      value.layer =
          value.op.substr(0, value.op.rfind('/') == value.op.npos ? 0 : value.op.rfind('/'));
    } else {
      describe_origin(region, t, value);
    }
    describe_reader(region, t, value);
    if (is_in_layer(value.layer, layer)) out.values.push_back(std::move(value));
  }
  return out;
}

std::string to_text(const SavedValues& saved) {
  TextTable text({"saved for backward", "bytes", "computed by", "name", "layer", "read by", "in"});
  double arguments = 0;
  for (const SavedValue& v : saved.values) {
    const auto bytes = static_cast<double>(v.type.num_bytes());
    if (v.is_argument) arguments += bytes;
    std::string type = to_text(v.type);
    if (v.iterations > 0) type += fmt::format(" ({} iterations)", v.iterations);
    if (v.is_on_host) type += " on the host";
    text.add({std::move(type), bytes_text(bytes), v.is_argument ? "argument " + v.op : v.op,
              v.name.empty() ? "-" : v.name, where(v.layer), v.reader.empty() ? "-" : v.reader,
              where(v.reader_layer)});
  }
  const double on_host = saved.bytes(Memory::kHost);
  return text.text() +
         fmt::format(
             "{} computed and kept{}, and {} of arguments that are read again\n",
             bytes_text(saved.bytes(Memory::kDevice)),
             on_host > 0 ? fmt::format(" on the devices, {} on the host", bytes_text(on_host)) : "",
             bytes_text(arguments));
}

nlohmann::ordered_json to_json(const SavedValues& saved) {
  auto values = nlohmann::ordered_json::array();
  for (const SavedValue& v : saved.values) {
    values.push_back({{"type", to_text(v.type)},
                      {"bytes", v.type.num_bytes()},
                      {"iterations", v.iterations},
                      {"op", v.op},
                      {"name", v.name},
                      {"layer", v.layer},
                      {"reader", v.reader},
                      {"reader_layer", v.reader_layer},
                      {"on_host", v.is_on_host},
                      {"argument", v.is_argument}});
  }
  return {{"values", std::move(values)},
          {"device_bytes", saved.bytes(Memory::kDevice)},
          {"host_bytes", saved.bytes(Memory::kHost)}};
}

}  // namespace axle
