#include "config/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace axle {
namespace {

std::string in_quotes(std::string_view s) {
  std::string out = "'";
  for (const char c : s) {
    if (c == '\'' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + "'";
}

bool fits_on_a_line(const TypeOps& ops) {
  return ops.kind == FieldKind::kLeaf ||
         (ops.element && ops.kind != FieldKind::kMap && fits_on_a_line(*ops.element));
}

// Returns the text of a slot that has a line of its own; empty if only its children have lines.
std::string line_of(const Slot& outer) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  switch (ops.kind) {
    case FieldKind::kOptional:
      return "none";
    case FieldKind::kRequired:
      return "REQUIRED";
    case FieldKind::kLeaf: {
      std::string text = ops.text(slot.at);
      return ops.leaf == LeafKind::kString || text.empty() ? in_quotes(text) : text;
    }
    case FieldKind::kChild:
    case FieldKind::kFn:
      return ops.held(slot.at) ? ops.held(slot.at).name() : "REQUIRED";
    case FieldKind::kStruct:
    case FieldKind::kMap:
      return children_of(slot).empty() ? "{}" : "";
    case FieldKind::kList:
      break;
  }
  std::string out = "[";
  const std::vector<Slot> elements = children_of(slot);
  if (!elements.empty() && !fits_on_a_line(ops)) return "";
  for (const Slot& element : elements) out += (out.size() > 1 ? ", " : "") + line_of(element);
  return out + "]";
}

void add_lines(const std::string& path, const Slot& slot, bool keeps_results,
               std::vector<ConfigLine>& out) {
  const Slot inner = unwrap(slot);
  if (std::string line = line_of(inner); !line.empty())
    out.push_back({path, std::move(line), keeps_results});
  if (fits_on_a_line(*inner.ops)) return;
  for (const Slot& child : shown_children(inner))
    add_lines(join_config_path(path, child.name), child, keeps_results || child.keeps_results, out);
}

// Returns "path: text"; the root itself may have no path.
std::string at(const std::string& path, const std::string& text) {
  return path.empty() ? text : path + ": " + text;
}

}  // namespace

std::vector<ConfigLine> to_lines(const ConfigView& root, std::string_view root_name) {
  std::vector<ConfigLine> out;
  add_lines(std::string(root_name), root.slot(), false, out);
  return out;
}

std::string to_string(const ConfigView& root, std::string_view root_name) {
  std::string out;
  for (const ConfigLine& line : to_lines(root, root_name)) out += at(line.path, line.text) + "\n";
  return out;
}

std::vector<ConfigChange> changes(const ConfigView& before, const ConfigView& after,
                                  std::string_view root_name) {
  const std::vector<ConfigLine> old_lines = to_lines(before, root_name);
  std::map<std::string, std::string> now;
  std::vector<ConfigLine> added = to_lines(after, root_name);
  for (const ConfigLine& line : added) now[line.path] = line.text;
  std::vector<ConfigChange> out;
  for (const ConfigLine& line : old_lines) {
    const auto it = now.find(line.path);
    if (it == now.end())
      out.push_back({line.path, line.text, {}, line.keeps_results});
    else if (it->second != line.text)
      out.push_back({line.path, line.text, it->second, line.keeps_results});
    if (it != now.end()) now.erase(it);
  }
  for (const ConfigLine& line : added)
    if (now.contains(line.path)) out.push_back({line.path, {}, line.text, line.keeps_results});
  return out;
}

std::string to_text(const std::vector<ConfigChange>& changes) {
  std::string out;
  for (const ConfigChange& c : changes) {
    out += at(c.path, c.before ? *c.before : *c.after);
    out += !c.after ? " (gone)\n" : !c.before ? " (new)\n" : " -> " + *c.after + "\n";
  }
  return out;
}

std::string diff(const ConfigView& before, const ConfigView& after, std::string_view root_name) {
  return to_text(changes(before, after, root_name));
}

bool same_values(const Slot& a, const Slot& b) {
  return *a.ops->type == *b.ops->type && to_lines(ConfigView(a)) == to_lines(ConfigView(b));
}

std::vector<Slot> shown_children(const Slot& slot) {
  std::vector<Slot> out = children_of(slot);
  if (!unwrap(slot).ops->options || !held_config(slot)) return out;
  const AnyConfig defaults = AnyConfig::with_defaults(unwrap(slot).ops->options_type());
  const std::vector<Slot> fields = children_of(ConfigView(defaults).slot());
  std::erase_if(out, [&](const Slot& option) {
    return std::ranges::any_of(fields, [&](const Slot& field) {
      return "@" + field.name == option.name && same_values(field, option);
    });
  });
  return out;
}

}  // namespace axle
