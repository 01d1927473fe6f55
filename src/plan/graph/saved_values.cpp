#include "plan/graph/saved_values.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text/text_table.h"
#include "base/text/units.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"
#include "plan/graph/walk_ops.h"
#include "transform/regions.h"
#include "transform/remat/partition.h"

namespace axle {
namespace {

// The results of a loop or another op with one body are those of the body, and so are their places.
bool has_one_body(const OpNode& op) { return op.regions.size() == 1; }

// Ops that return their operand.
bool is_annotation(const OpNode& op) {
  return op.inputs.size() == 1 &&
         (!tag_of(op).empty() || constraint_of(op) || op.rules->name() == "place");
}

bool is_stacked(const OpNode& op, uint32_t result) {
  return runs_of_regions(op)[0].repeats == Repeats::kIterations &&
         op.region().results()[result].type() != op.outputs[result];
}

// Describes the op that computes `t`, also if it is in the body of the op that returns `t`.
void describe_origin(Tensor t, SavedValue& out) {
  while (!t.is_parameter()) {
    const OpNode& op = *t.node();
    if (out.tag.empty()) out.tag = tag_of(op);
    if (has_one_body(op)) {
      if (is_stacked(op, t.index())) out.iterations = op.outputs[t.index()].dims[0];
      t = op.region().results()[t.index()];
    } else if (is_annotation(op)) {
      out.is_on_host |= op.rules->name() == "place";
      t = op.inputs[0];
    } else {
      break;
    }
  }
  out.op = t.is_parameter() ? "argument of a body" : std::string(t.node()->rules->name());
  out.layer = layer_of(*t.node());
}

// Returns the tag of a name op that reads `t`; "" for none.
std::string tag_at(const Region& region, const Tensor& t) {
  for (const OpNode* op : region.ops()) {
    if (!tag_of(*op).empty() && same(op->inputs[0], t)) return std::string(tag_of(*op));
  }
  return "";
}

// Returns the first op in `region` that reads one of `values`, or something that cheap ops make of
// them, and for which `counts` holds.
template <class Counts>
const OpNode* first_reader(const Region& region, const Tensor& value, const Counts& counts) {
  std::unordered_set<Tensor, TensorHash, TensorSame> same_bytes = {value};
  for (const OpNode* op : region.ops()) {
    if (std::ranges::none_of(op->inputs, [&](const Tensor& t) { return same_bytes.contains(t); }))
      continue;
    if (op->rules->row().cheap || op->rules->row().is_kept_apart) {
      for (size_t i = 0; i < op->inputs.size(); ++i) {
        if (!same_bytes.contains(op->inputs[i])) continue;
        // A barrier returns its operands one by one.
        same_bytes.insert(
            Tensor(const_cast<OpNode*>(op), op->outputs.size() > 1 ? static_cast<uint32_t>(i) : 0));
      }
    } else if (counts(*op)) {
      return op;
    }
  }
  return nullptr;
}

void describe_reader(const Region& step, const Tensor& value, SavedValue& out) {
  const OpNode* reader =
      first_reader(step, value, [](const OpNode& op) { return op.phase == Phase::kBackward; });
  Tensor read = value;
  const Region* region = &step;
  while (reader && has_one_body(*reader)) {
    out.reader = reader->rules->name();
    out.reader_layer = layer_of(*reader);
    // The body's parameters are the op's operands, in order.
    size_t i = 0;
    while (i < reader->inputs.size() && !same(reader->inputs[i], read)) ++i;
    if (i == reader->inputs.size()) return;  // it reads something made of the value
    region = &reader->region();
    read = region->parameters()[i];
    reader = first_reader(*region, read, [](const OpNode&) { return true; });
  }
  if (!reader) return;
  out.reader = reader->rules->name();
  out.reader_layer = layer_of(*reader);
}

std::string where(const std::string& layer) { return layer.empty() ? "-" : layer; }

}  // namespace

double SavedValues::bytes() const {
  double sum = 0;
  for (const SavedValue& value : values) {
    if (!value.is_argument) sum += static_cast<double>(value.type.num_bytes());
  }
  return sum;
}

SavedValues saved_values(const Region& step, const std::string& layer) {
  SavedValues out;
  for (const Tensor& t : read_by_backward(step)) {
    SavedValue value{.type = t.type()};
    if (t.is_parameter()) {
      value.is_argument = true;
      value.op = layer_of(*t.node());  // of a parameter: its name
      value.layer =
          value.op.substr(0, value.op.rfind('/') == value.op.npos ? 0 : value.op.rfind('/'));
    } else {
      describe_origin(t, value);
      if (value.tag.empty()) value.tag = tag_at(step, t);
      if (value.tag.empty() && has_one_body(*t.node())) {
        const Region& body = t.node()->region();
        value.tag = tag_at(body, body.results()[t.index()]);
      }
    }
    describe_reader(step, t, value);
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
              v.tag.empty() ? "-" : v.tag, where(v.layer), v.reader.empty() ? "-" : v.reader,
              where(v.reader_layer)});
  }
  return text.text() +
         fmt::format("{} computed and kept, and {} of arguments that are read again\n",
                     bytes_text(saved.bytes()), bytes_text(arguments));
}

nlohmann::ordered_json to_json(const SavedValues& saved) {
  auto values = nlohmann::ordered_json::array();
  for (const SavedValue& v : saved.values) {
    values.push_back({{"type", to_text(v.type)},
                      {"bytes", v.type.num_bytes()},
                      {"iterations", v.iterations},
                      {"op", v.op},
                      {"tag", v.tag},
                      {"layer", v.layer},
                      {"reader", v.reader},
                      {"reader_layer", v.reader_layer},
                      {"on_host", v.is_on_host},
                      {"argument", v.is_argument}});
  }
  return {{"values", std::move(values)}, {"bytes", saved.bytes()}};
}

}  // namespace axle
