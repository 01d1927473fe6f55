#include "ir/text/print.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ir/op_rules.h"

namespace axle {
namespace {

void print_to(std::string& out, const Region& region, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::unordered_map<const OpNode*, size_t> numbers;
  for (const Tensor& p : region.parameters()) numbers.emplace(p.node(), numbers.size() + 1);
  for (const OpNode* op : region.ops()) numbers.emplace(op, numbers.size() + 1);
  const auto name = [&](const Tensor& t) {
    const size_t number = numbers.at(t.node());
    return t.node()->outputs.size() > 1 ? fmt::format("%{}#{}", number, t.index())
                                        : fmt::format("%{}", number);
  };
  const auto list = [&](const Values& values, bool types) {
    std::string text;
    for (const Tensor& t : values) {
      text += (text.empty() ? "" : ", ") + name(t);
      if (types) text += ": " + to_text(t.type());
    }
    return text;
  };
  out += fmt::format("{}({})\n", margin, list(region.parameters(), true));
  for (const OpNode* op : region.ops()) {
    out += fmt::format("{}  %{} = {} {}", margin, numbers.at(op), op->rules->name(),
                       list(op->inputs, false));
    if (op->attributes) out += " {" + op->attributes->text() + "}";
    out += " :";
    for (const Type& type : op->outputs) out += " " + to_text(type);
    if (op->scope && !op->scope->empty()) out += " @" + *op->scope;
    if (op->phase == Phase::kBackward) out += " [backward]";
    out += "\n";
    for (const auto& inner : op->regions) print_to(out, *inner, indent + 4);
  }
  out += fmt::format("{}  return {}\n", margin, list(region.results(), false));
}

}  // namespace

std::string print(const Region& region) {
  std::string out;
  print_to(out, region, 0);
  return out;
}

int64_t count_ops(const Region& region, std::string_view name) {
  int64_t n = 0;
  for (const OpNode* op : region.ops()) {
    n += op->rules->name() == name;
    for (const auto& inner : op->regions) n += count_ops(*inner, name);
  }
  return n;
}

}  // namespace axle
