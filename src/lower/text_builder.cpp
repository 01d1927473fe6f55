#include "lower/text_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {
namespace {

const Type& type_of(const Type& type) { return type; }
const Type& type_of(const HloValue& value) { return value.type; }

// Most of a program's text is written by these and by op(). They append to it, because fmt took a
// third of the time of lowering.
void append_names(std::string& out, const HloValues& values) {
  for (size_t i = 0; i < values.size(); ++i) out.append(i ? ", " : "").append(values[i].name);
}

// Appends the types of values, or types, separated by ", ".
template <class T>
void append_types(std::string& out, const std::vector<T>& values) {
  for (size_t i = 0; i < values.size(); ++i)
    out.append(i ? ", " : "").append(mlir_type(type_of(values[i])));
}

std::string join_names(const HloValues& values) {
  std::string out;
  append_names(out, values);
  return out;
}

template <class T>
std::string join_types(const std::vector<T>& values) {
  std::string out;
  append_types(out, values);
  return out;
}

template <class T>
std::string float_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return fmt::format("0x{:0{}X}", bits, 2 * sizeof(T));
}

// Returns the exact text of one element: decimal for integers, hexadecimal bits for floats.
std::string element_text(DType dtype, const Scalar& value) {
  return dispatch_any(dtype, [&]<class T>(std::type_identity<T>) {
    const T v = value.as<T>();
    if constexpr (kIsComplex<T>)
      return fmt::format("({}, {})", float_bits(v.real()), float_bits(v.imag()));
    else if constexpr (std::is_integral_v<Computed<T>>)
      return fmt::format("{}", static_cast<Computed<T>>(v));
    else
      return float_bits(v);
  });
}

std::string hex_bytes(const HostTensor& value) {
  std::string out;
  for (const std::byte b : value.bytes())
    fmt::format_to(std::back_inserter(out), "{:02X}", static_cast<unsigned>(b));
  return out;
}

}  // namespace

std::string sdy_sharding(const PartitionSpec& spec, int64_t rank, const Mesh& mesh,
                         ShardedDims kind) {
  const PartitionSpec known = restrict(spec, mesh);
  std::vector<std::string> dims;
  for (int64_t i = 0; i < rank; ++i) {
    std::vector<std::string> axes;
    if (i < std::ssize(known.dims)) {
      for (const std::string& axis : known.dims[i])
        axes.push_back(axis == kUnconstrained[0] ? axis : "\"" + axis + "\"");
    }
    if (kind == ShardedDims::kOpen) axes.push_back(kUnconstrained[0]);
    dims.push_back(fmt::format("{{{}}}", fmt::join(axes, ", ")));
  }
  return fmt::format("<@mesh, [{}]>", fmt::join(dims, ", "));
}

std::string TextBuilder::fresh_name() { return "%" + fmt::format_int(next_++).str(); }

void TextBuilder::line_end() {
  if (at_ && at_->scope) {
    out_.append(" loc(\"");
    if (backward_ || at_->phase == Phase::kBackward) out_.append("backward/");
    out_.append(*at_->scope).append("/").append(at_->rules->name()).append("\")");
  }
  out_ += '\n';
}

HloValues TextBuilder::op(std::string_view name, const HloValues& operands,
                          const std::vector<Type>& results, std::string_view attributes,
                          const std::vector<HloRegion>& regions) {
  const std::string base = fresh_name();
  const bool is_single = results.size() == 1;
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  if (!results.empty()) out_.append(base);
  if (results.size() > 1) out_.append(":").append(fmt::format_int(results.size()).str());
  if (!results.empty()) out_.append(" = ");
  out_.append("\"").append(name).append("\"(");
  append_names(out_, operands);
  out_.append(")");
  if (!attributes.empty()) out_.append(" <{").append(attributes).append("}>");
  if (!regions.empty()) {
    out_ += " (";
    for (size_t i = 0; i < regions.size(); ++i) {
      if (i) out_ += ", ";
      write_region(regions[i], "stablehlo.return");
    }
    out_ += ")";
  }
  out_.append(" : (");
  append_types(out_, operands);
  out_.append(is_single ? ") -> " : ") -> (");
  append_types(out_, results);
  if (!is_single) out_.append(")");
  line_end();
  HloValues values;
  values.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back({is_single ? base : fmt::format("{}#{}", base, i), results[i]});
  return values;
}

void TextBuilder::write_region(const HloRegion& region, std::string_view terminator) {
  auto outer_splats = std::exchange(splats_, {});
  out_ += "{\n";
  out_.append(static_cast<size_t>(2 * depth_), ' ') += "^bb0(";
  HloValues parameters;
  for (const Type& type : region.parameters) {
    parameters.push_back({fresh_name(), type});
    fmt::format_to(std::back_inserter(out_), "{}{}: {}", parameters.size() > 1 ? ", " : "",
                   parameters.back().name, mlir_type(type));
  }
  out_ += "):\n";
  ++depth_;
  const HloValues results = region.body(parameters);
  op(terminator, results, {}, {}, {});
  --depth_;
  out_.append(static_cast<size_t>(2 * depth_), ' ') += "}";
  splats_ = std::move(outer_splats);
}

HloValue TextBuilder::splat(const Type& type, Scalar value) {
  const std::string text = element_text(type.dtype, value);
  auto [it, is_new] = splats_.try_emplace({mlir_type(type), text});
  if (is_new) {
    const HloValue made = one("stablehlo.constant", {}, type,
                              fmt::format("value = dense<{}> : {}", text, mlir_type(type)));
    splats_[{mlir_type(type), text}] = made;
    return made;
  }
  return it->second;
}

HloValue TextBuilder::constant(const HostTensor& value) {
  if (value.size() == 1 && !is_complex(value.dtype())) return splat(value.type(), value.element(0));
  std::string text;
  if (value.dtype() == DType::kPred) {
    // MLIR's text has no byte form of predicates, so they are written as nested lists.
    const std::function<void(size_t, int64_t&)> nested = [&](size_t d, int64_t& at) {
      if (d == value.shape().size()) {
        text += value.at(at++) != 0 ? "true" : "false";
        return;
      }
      text += '[';
      for (int64_t i = 0; i < value.shape()[d]; ++i) {
        if (i) text += ", ";
        nested(d + 1, at);
      }
      text += ']';
    };
    int64_t at = 0;
    nested(0, at);
  } else if (value.size() > 0) {
    text = "\"0x" + hex_bytes(value) + "\"";
  }
  return one("stablehlo.constant", {}, value.type(),
             fmt::format("value = dense<{}> : {}", text, mlir_type(value.type())));
}

HloValues TextBuilder::inline_region(const Region& region, const HloValues& arguments) {
  ValueMap<HloValue> values;
  for (size_t i = 0; i < arguments.size(); ++i) values[region.parameters()[i]] = arguments[i];
  const OpNode* const outer = at_;
  // Ops in the body of a backward loop have Phase::kForward, since the phase is relative to their
  // region. Their locations say "backward" all the same.
  const bool outer_backward = backward_;
  backward_ = backward_ || (outer && outer->phase == Phase::kBackward);
  for (const OpNode* node : region.ops()) {
    at_ = node;
    const OriginScope origin(*node);  // errors name its layer
    HloValues x;
    x.reserve(node->inputs.size());
    for (const Tensor& t : node->inputs) x.push_back(values.at(t));
    const HloRule& rule = node->rules->row().hlo;
    HloValues y =
        rule.name() ? op(rule.name(), x, node->outputs, {}, {}) : rule.function()(*node, *this, x);
    AXLE_CHECK(y.size() == node->outputs.size(),
               fmt::format("lowering of {} gave {} results", node->rules->name(), y.size()));
    for (uint32_t i = 0; i < y.size(); ++i) values[Tensor(node, i)] = std::move(y[i]);
    at_ = outer;
  }
  backward_ = outer_backward;
  HloValues results;
  for (const Tensor& t : region.results()) results.push_back(values.at(t));
  return results;
}

HloValues TextBuilder::call(const std::string& name, const HloValues& arguments,
                            const std::vector<Type>& results,
                            const std::function<HloValues(const HloValues&)>& body) {
  if (functions_.try_emplace(name, true).second) {
    std::vector<Type> parameters;
    for (const HloValue& a : arguments) parameters.push_back(a.type);
    // The private function is written to its own text, so set the current text aside.
    std::string outer_text = std::exchange(out_, {});
    auto outer_splats = std::exchange(splats_, {});
    const int outer_depth = std::exchange(depth_, 1);
    const OpNode* const outer_at = std::exchange(at_, nullptr);
    function("private", name, parameters, {}, {}, results, body);
    finished_.push_back(std::exchange(out_, std::move(outer_text)));
    splats_ = std::move(outer_splats);
    depth_ = outer_depth;
    at_ = outer_at;
  }
  const std::string base = fresh_name();
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_), "{}{} = func.call @{}({}) : ({}) -> ({})", base,
                 results.size() == 1 ? "" : fmt::format(":{}", results.size()), name,
                 join_names(arguments), join_types(arguments), join_types(results));
  line_end();
  HloValues values;
  for (size_t i = 0; i < results.size(); ++i) {
    values.push_back({results.size() == 1 ? base : fmt::format("{}#{}", base, i), results[i]});
  }
  return values;
}

HloValue TextBuilder::sharding_constraint(const HloValue& x, const PartitionSpec& spec) {
  // Over manual axes, x is a part already.
  const Mesh mesh{automatic_axes()};
  if (mesh.num_devices() == 1) return x;
  const std::string name = fresh_name();
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_), "{} = sdy.sharding_constraint {} {} : {}", name, x.name,
                 sdy_sharding(restrict(spec, x.type.dims, mesh), x.type.rank(), mesh),
                 mlir_type(x.type));
  line_end();
  return {name, x.type};
}

// op() cannot write this op: the placement is a discardable attribute, not a property of the op.
HloValue TextBuilder::place(const HloValue& x, std::string_view memory) {
  const std::string name = fresh_name();
  const std::string type = mlir_type(x.type);
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_),
                 "{} = \"stablehlo.custom_call\"({}) <{{call_target_name = "
                 "\"annotate_device_placement\", has_side_effect = true}}> "
                 "{{mhlo.frontend_attributes = {{_xla_buffer_placement = \"{}\"}}}} : ({}) -> {}",
                 name, x.name, memory, type, type);
  line_end();
  return {name, x.type};
}

void TextBuilder::record(LoweringChoice choice) {
  if (at_ && at_->scope) choice.layer = *at_->scope;
  if (std::ranges::count(choices_, choice) == 0) choices_.push_back(std::move(choice));
}

std::vector<MeshAxis> TextBuilder::automatic_axes() const {
  std::vector<MeshAxis> out = mesh_.axes;
  std::erase_if(out, [&](const MeshAxis& axis) {
    return axis.size == 1 || std::ranges::count(manual_axes_, axis.name) > 0;
  });
  return out;
}

HloValues TextBuilder::manual_computation(const HloValues& operands,
                                          const std::vector<PartitionSpec>& in_specs,
                                          const std::vector<PartitionSpec>& out_specs,
                                          const std::vector<std::string>& manual_axes,
                                          const std::vector<Type>& parts,
                                          const std::vector<Type>& results,
                                          const std::function<HloValues(const HloValues&)>& body) {
  // The partitioner may divide dims over the axes that stay automatic.
  const bool is_partial = std::ranges::any_of(automatic_axes(), [&](const MeshAxis& axis) {
    return std::ranges::count(manual_axes, axis.name) == 0;
  });
  const auto shardings = [&](const std::vector<PartitionSpec>& specs, const auto& types) {
    std::vector<std::string> out;
    for (size_t i = 0; i < specs.size(); ++i) {
      out.push_back(sdy_sharding(specs[i], types[i].rank(), mesh_,
                                 is_partial ? ShardedDims::kOpen : ShardedDims::kClosed));
    }
    return fmt::format("[{}]", fmt::join(out, ", "));
  };
  std::vector<Type> operand_types;
  for (const HloValue& v : operands) operand_types.push_back(v.type);
  std::vector<std::string> axes;
  for (const std::string& axis : manual_axes) axes.push_back("\"" + axis + "\"");
  const std::string base = fresh_name();
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  if (!results.empty())
    fmt::format_to(std::back_inserter(out_), "{}{} = ", base,
                   results.size() == 1 ? "" : fmt::format(":{}", results.size()));
  fmt::format_to(std::back_inserter(out_),
                 "sdy.manual_computation({}) in_shardings={} out_shardings={} manual_axes={{{}}} (",
                 join_names(operands), shardings(in_specs, operand_types),
                 shardings(out_specs, results), fmt::join(axes, ", "));
  auto outer_splats = std::exchange(splats_, {});
  HloValues parameters;
  for (const Type& type : parts) {
    parameters.push_back({fresh_name(), type});
    fmt::format_to(std::back_inserter(out_), "{}{}: {}", parameters.size() > 1 ? ", " : "",
                   parameters.back().name, mlir_type(type));
  }
  out_ += ") {\n";
  ++depth_;
  const size_t num_outer_axes = manual_axes_.size();
  manual_axes_.insert(manual_axes_.end(), manual_axes.begin(), manual_axes.end());
  const HloValues returned = body(parameters);
  manual_axes_.resize(num_outer_axes);
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_), "sdy.return {} : {}\n", join_names(returned),
                 join_types(returned));
  --depth_;
  splats_ = std::move(outer_splats);
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_), "}} : ({}) -> ({})", join_types(operands),
                 join_types(results));
  line_end();
  HloValues values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back({results.size() == 1 ? base : fmt::format("{}#{}", base, i), results[i]});
  return values;
}

void TextBuilder::function(std::string_view visibility, const std::string& name,
                           const std::vector<Type>& parameters,
                           const std::vector<std::string>& parameter_attributes,
                           const std::vector<std::string>& result_attributes,
                           const std::vector<Type>& results,
                           const std::function<HloValues(const HloValues&)>& body) {
  const auto with = [](const std::vector<std::string>& attributes, size_t i) {
    return i < attributes.size() && !attributes[i].empty() ? " {" + attributes[i] + "}"
                                                           : std::string();
  };
  fmt::format_to(std::back_inserter(out_), "  func.func {} @{}(", visibility, name);
  HloValues arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    arguments.push_back({fmt::format("%arg{}", i), parameters[i]});
    fmt::format_to(std::back_inserter(out_), "{}%arg{}: {}{}", i ? ", " : "", i,
                   mlir_type(parameters[i]), with(parameter_attributes, i));
  }
  out_ += ") -> (";
  for (size_t i = 0; i < results.size(); ++i) {
    fmt::format_to(std::back_inserter(out_), "{}{}{}", i ? ", " : "", mlir_type(results[i]),
                   with(result_attributes, i));
  }
  out_ += ") {\n";
  ++depth_;
  const HloValues returned = body(arguments);
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  fmt::format_to(std::back_inserter(out_), "\"func.return\"({}) : ({}) -> ()\n",
                 join_names(returned), join_types(returned));
  --depth_;
  out_ += "  }\n";
}

std::string TextBuilder::take() {
  std::string all = std::move(out_);
  for (const std::string& f : finished_) all += f;
  return all;
}

}  // namespace axle
