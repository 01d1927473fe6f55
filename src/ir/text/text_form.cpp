#include "ir/text/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

const OpRules* op_named(std::string_view name) {
  const auto& ops = all_ops();
  const auto found = std::ranges::find(ops, name, [](const OpRules* op) { return op->name(); });
  return found == ops.end() ? nullptr : *found;
}

std::string key(std::string_view op, std::string_view text, const std::vector<Type>& results) {
  return fmt::format("{} {{{}}} : {}", op, text, to_text(results));
}

class Parser {
 public:
  Parser(std::string_view text, const AttributeTable& attributes)
      : rest_(text), attributes_(attributes) {}

  std::shared_ptr<Region> whole() {
    next_line();
    auto region = parse(0);
    if (has_line_) fail("the end of the text");
    return region;
  }

 private:
  using Known = std::unordered_map<uint32_t, const OpNode*>;

  [[noreturn]] void fail(std::string_view expected) const {
    throw DataError(fmt::format("line {}: expected {}, got '{}'", number_, expected, line_));
  }
  void next_line() {
    has_line_ = !rest_.empty();
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    at_ = line_;
  }
  bool skip(std::string_view token) {
    if (!at_.starts_with(token)) return false;
    at_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!skip(token)) fail(fmt::format("'{}'", token));
  }
  template <class T>
  T number() {
    T value = 0;
    const auto [end, error] = std::from_chars(at_.data(), at_.data() + at_.size(), value);
    if (error != std::errc()) fail("a number");
    at_.remove_prefix(static_cast<size_t>(end - at_.data()));
    return value;
  }
  std::string_view until(char stop) {
    const size_t end = at_.find(stop);
    if (end == std::string_view::npos) fail(fmt::format("'{}'", stop));
    const std::string_view out = at_.substr(0, end);
    at_.remove_prefix(end);
    return out;
  }
  Type type() {
    Type out;
    try {
      from_text(until('['), out.dtype);
    } catch (const ConfigError&) {
      fail("a dtype");
    }
    expect("[");
    while (!skip("]")) {
      if (!out.dims.empty()) expect(", ");
      out.dims.push_back(number<int64_t>());
    }
    return out;
  }
  Tensor value(const Known& known) {
    expect("%");
    const auto id = number<uint32_t>();
    const uint32_t index = skip("#") ? number<uint32_t>() : 0;
    const auto found = known.find(id);
    if (found == known.end() || index >= found->second->outputs.size())
      fail(fmt::format("a value that is defined before its use instead of %{}", id));
    return {found->second, index};
  }
  Values values(const Known& known) {
    Values out;
    while (at_.starts_with('%')) {
      out.push_back(value(known));
      if (!skip(", ")) break;
    }
    return out;
  }

  std::shared_ptr<Region> parse(size_t indent) {
    const std::string margin(indent, ' ');
    auto region = std::make_shared<Region>();
    Known known;
    expect(margin + "(");
    while (!skip(")")) {
      if (!known.empty()) expect(", ");
      expect("%");
      const auto id = number<uint32_t>();
      expect(": ");
      const NameScope no_name("");
      known[id] = region->add_parameter(type()).node();
    }
    next_line();
    while (!skip(margin + "  return ")) parse_op(*region, known, indent);
    region->set_results(values(known));
    if (!at_.empty()) fail("the results");
    next_line();
    return region;
  }

  void parse_op(Region& region, Known& known, size_t indent) {
    expect(std::string(indent, ' ') + "  %");
    const auto id = number<uint32_t>();
    expect(" = ");
    const OpRules* const rules = op_named(until(' '));
    if (!rules) fail("the name of an op");
    expect(" ");
    Values inputs = values(known);
    std::optional<std::string_view> attributes_text;
    if (skip(" {")) {
      const size_t end = at_.rfind("} :");  // the text of attributes may have braces of its own
      if (end == std::string_view::npos) fail("'} :' after the attributes");
      attributes_text = at_.substr(0, end);
      at_.remove_prefix(end + 1);
    }
    expect(" :");
    std::vector<Type> types;
    while (at_.size() > 1 && at_[1] != '@' && at_[1] != '[') {
      expect(" ");
      types.push_back(type());
    }
    std::shared_ptr<const Attributes> attributes;
    if (attributes_text) {
      attributes = attributes_.find(rules->name(), *attributes_text, types);
      if (!attributes) fail("attributes of the table");
    }
    constexpr std::string_view kBackward = " [backward]";
    const bool is_backward = at_.ends_with(kBackward);
    if (is_backward) at_.remove_suffix(kBackward.size());
    const NameScope scope(skip(" @") ? at_ : std::string_view());
    const PhaseScope phase(is_backward ? Phase::kBackward : Phase::kForward);
    const std::string described(line_);
    next_line();
    std::vector<std::shared_ptr<const Region>> regions;
    const std::string inner(indent + 4, ' ');
    while (line_.starts_with(inner + "(")) regions.push_back(parse(indent + 4));
    const OpNode* const op =
        region.append(*rules, std::move(inputs), attributes, std::move(regions));
    if (op->outputs != types) {
      throw DataError(fmt::format("{}: expected results of {}, got '{}'", rules->name(),
                                  to_text(op->outputs), described));
    }
    known[id] = op;
  }

  std::string_view rest_, line_, at_;
  const AttributeTable& attributes_;
  size_t number_ = 0;
  bool has_line_ = false;
};

}  // namespace

AttributeTable::AttributeTable(const Region& region) { add(region); }

void AttributeTable::add(const Region& region) {
  for (const OpNode* op : region.ops()) {
    if (op->attributes)
      found_[key(op->rules->name(), op->attributes->text(), op->outputs)] = op->attributes;
    for (const auto& inner : op->regions) add(*inner);
  }
}

std::shared_ptr<const Attributes> AttributeTable::find(std::string_view op, std::string_view text,
                                                       const std::vector<Type>& results) const {
  const auto found = found_.find(key(op, text, results));
  return found == found_.end() ? nullptr : found->second;
}

std::shared_ptr<Region> parse_region(std::string_view text, const AttributeTable& attributes) {
  return Parser(text, attributes).whole();
}

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
