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
  if (ops.kind == FieldKind::kLeaf) {
    std::string text = ops.text(slot.at);
    return ops.leaf == LeafKind::kString || text.empty() ? in_quotes(text) : text;
  }
  if (is_unset(slot)) return ops.kind == FieldKind::kOptional ? "none" : "REQUIRED";
  if (ops.held) return ops.held(slot.at).name();
  const std::vector<Slot> elements = children_of(slot);
  if (ops.kind != FieldKind::kList) return elements.empty() ? "{}" : "";
  if (!elements.empty() && !fits_on_a_line(ops)) return "";
  std::string out = "[";
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

std::vector<ConfigLine> to_lines(const Slot& root, std::string_view root_name) {
  std::vector<ConfigLine> out;
  add_lines(std::string(root_name), root, false, out);
  return out;
}

std::string to_string(const Slot& root, std::string_view root_name) {
  std::string out;
  for (const ConfigLine& line : to_lines(root, root_name)) out += at(line.path, line.text) + "\n";
  return out;
}

std::vector<ConfigChange> changes(const Slot& before, const Slot& after,
                                  std::string_view root_name) {
  const std::vector<ConfigLine> old_lines = to_lines(before, root_name);
  std::map<std::string, std::string> now;
  std::vector<ConfigLine> added = to_lines(after, root_name);
  for (const ConfigLine& line : added) now[line.path] = line.text;
  std::vector<ConfigChange> out;
  for (const ConfigLine& line : old_lines) {
    const auto found = now.extract(line.path);
    if (found.empty())
      out.push_back({line.path, line.text, {}, line.keeps_results});
    else if (found.mapped() != line.text)
      out.push_back({line.path, line.text, found.mapped(), line.keeps_results});
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

std::string diff(const Slot& before, const Slot& after, std::string_view root_name) {
  return to_text(changes(before, after, root_name));
}

bool same_values(const Slot& a, const Slot& b) {
  return *a.ops->type == *b.ops->type && to_lines(a) == to_lines(b);
}

std::vector<Slot> shown_children(const Slot& slot) {
  std::vector<Slot> out = children_of(slot);
  const TypeOps& ops = *unwrap(slot).ops;
  if (!ops.options) return out;
  const AnyConfig defaults = AnyConfig::with_defaults(ops.options_type());
  std::erase_if(out, [&](const Slot& child) {
    return child.name.starts_with('@') &&
           same_values(child, child_of(defaults, child.name.substr(1), {}));
  });
  return out;
}

}  // namespace axle
