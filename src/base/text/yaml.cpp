#include "base/text/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using Document = nlohmann::ordered_json;

constexpr size_t kDepthOfLines = 3;
constexpr std::string_view kYamlTags = "tag:yaml.org,2002:", kTextTag = "tag:yaml.org,2002:str";

bool is_null_word(const std::string& s, NullWords words) {
  if (s == "none") return words == NullWords::kWithNone;
  return s.empty() || s == "null" || s == "~";
}

[[noreturn]] void fail_at_line(std::string_view source, int line, std::string_view message) {
  throw ConfigError(fmt::format("{}:{}: {}", source, line, message));
}

// Builds the document from the parser's events, without creating YAML nodes.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view source, YamlLines* lines, NullWords nulls)
      : source_(source), lines_(lines), nulls_(nulls) {}

  /// Returns the document once the parser is done. Throws ConfigError.
  Document take() {
    if (list_as_key_) fail_at_mark(*list_as_key_, "expected a name as key, got a list or mapping");
    return std::move(root_.value);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) fail_at_mark(mark, "expected one document, got a second");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({.mark = mark, .anchor = anchor});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check_tag(mark, tag);
    const bool plain = tag != "!" && tag != kTextTag;
    Node node{.mark = mark, .anchor = anchor, .bytes = text.size()};
    if (!plain || !is_null_word(text, nulls_) || wants_key()) node.value = text;
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end())
      fail_at_mark(mark,
                   "expected an alias of an earlier value, got one of a value that contains it");
    count(found->second, mark);
    Node node = found->second;
    node.mark = mark;
    node.anchor = YAML::NullAnchor;
    add(std::move(node), /*counted=*/true);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.value = Document::array(), .mark = mark, .anchor = anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.value = Document::object(), .mark = mark, .anchor = anchor});
  }
  void OnMapEnd() override { close(); }

 private:
  // A value with everything inside it.
  struct Node {
    Document value = nullptr;
    YAML::Mark mark;
    YAML::anchor_t anchor = YAML::NullAnchor;
    size_t values = 1, bytes = 0;
  };
  // A list or mapping that has not ended yet.
  struct Open {
    Node node;
    std::unordered_set<std::string> keys = {};
    std::optional<std::string> key = {};
  };

  [[noreturn]] void fail_at_mark(const YAML::Mark& mark, std::string_view message) const {
    fail_at_line(source_, mark.line + 1, message);
  }

  // A tag of another program changes what the value means: "!function f" is no text.
  void check_tag(const YAML::Mark& mark, std::string_view tag) const {
    if (tag.empty() || tag == "!" || tag == "?") return;
    constexpr std::string_view kPlain[] = {"str", "int", "float", "bool", "null", "seq", "map"};
    const std::string_view name = tag.starts_with(kYamlTags) ? tag.substr(kYamlTags.size()) : "";
    if (std::ranges::count(kPlain, name) > 0) return;
    fail_at_mark(mark,
                 fmt::format("expected a value without a tag, got one with {}", printable(tag)));
  }

  bool wants_key() const {
    return !open_.empty() && open_.back().node.value.is_object() && !open_.back().key;
  }

  void count(const Node& node, const YAML::Mark& mark) {
    values_ += node.values;
    bytes_ += node.bytes;
    if (values_ > kMaxConfigValues || bytes_ > kMaxConfigBytes) {
      fail_at_mark(mark, fmt::format("expected at most {} values of {} bytes in all, counting what "
                                     "anchors and aliases stand for, got more",
                                     kMaxConfigValues, kMaxConfigBytes));
    }
  }

  void open(Node node) {
    // The error waits until take(): the parser also reports a list in place of a key if the end of
    // that list is missing, and finds the missing end only later.
    if (wants_key() && !list_as_key_) list_as_key_ = node.mark;
    if (open_.size() >= kMaxConfigDepth)
      fail_at_mark(node.mark, fmt::format("expected at most {} levels, got more", kMaxConfigDepth));
    count(node, node.mark);
    note_line(node.mark);
    open_.push_back({std::move(node)});
  }
  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    if (wants_key())
      open_.back().key = "";
    else
      put(std::move(node));
  }

  void add(Node node, bool counted = false) {
    if (!counted) count(node, node.mark);
    if (wants_key()) return take_key(node);
    note_line(node.mark);
    put(std::move(node));
  }

  void take_key(const Node& node) {
    if (!node.value.is_string()) fail_at_mark(node.mark, "expected a name as key, got none");
    Open& map = open_.back();
    note_line(node.mark);
    map.key = node.value.get<std::string>();
    if (!map.keys.insert(*map.key).second)
      fail_at_mark(node.mark,
                   fmt::format("expected each key once, got '{}' twice", printable(*map.key)));
    if (map.keys.size() > kMaxConfigKeys) {
      fail_at_mark(node.mark,
                   fmt::format("expected at most {} keys in a mapping, got more", kMaxConfigKeys));
    }
    keep_anchored(node);
  }

  // Keeps a copy, which counts as much as the node itself: nested anchors store their values many
  // times.
  void keep_anchored(const Node& node) {
    if (node.anchor == YAML::NullAnchor) return;
    count(node, node.mark);
    anchored_[node.anchor] = node;
  }

  // Notes the line of a key or of a list element. The value after a key has no entry of its own.
  void note_line(const YAML::Mark& mark) {
    if (!lines_ || open_.empty() || open_.size() > kDepthOfLines || open_.back().key) return;
    std::vector<size_t> place;
    for (const Open& level : open_) {
      const Document& value = level.node.value;
      place.push_back(value.size());
    }
    lines_->emplace(std::move(place), mark.line + 1);
  }

  void put(Node node) {
    keep_anchored(node);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    parent.node.values += node.values;
    parent.node.bytes += node.bytes;
    if (parent.node.value.is_array()) {
      parent.node.value.push_back(std::move(node.value));
    } else {
      parent.node.bytes += parent.key->size();
      // Appends without a search for the key: all keys are known to differ.
      auto& members = parent.node.value.get_ref<Document::object_t&>();
      members.Container::emplace_back(std::move(*parent.key), std::move(node.value));
      parent.key.reset();
    }
  }

  std::string_view source_;
  YamlLines* lines_;
  NullWords nulls_;
  bool started_ = false;
  std::optional<YAML::Mark> list_as_key_;
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  size_t values_ = 0, bytes_ = 0;
};

int line_of_mark(std::string_view text, size_t byte) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + byte, '\n'));
}

// Refuses characters that the YAML library takes for the end of the text, or reads differently from
// what the author meant.
void check_characters(std::string_view text, std::string_view source) {
  if (text.size() > kMaxConfigBytes) {
    throw ConfigError(
        fmt::format("{}: expected at most {} bytes, got {}", source, kMaxConfigBytes, text.size()));
  }
  if (const FileFormat* const format = text.empty() ? nullptr : recognized_format(text))
    fail_at_line(source, 1, fmt::format("expected YAML, got {}", to_text(*format)));
  if (const auto bad = find_invalid_utf8(text)) {
    fail_at_line(source, line_of_mark(text, *bad),
                 fmt::format("expected UTF-8, got the byte {}", printable(text.substr(*bad, 1))));
  }
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') ||
           c == 0x7f;
  };
  const auto control = std::find_if(text.begin(), text.end(), is_control);
  if (control != text.end()) {
    const auto at = static_cast<size_t>(control - text.begin());
    fail_at_line(
        source, line_of_mark(text, at),
        fmt::format("expected text, got the control character {}", printable(text.substr(at, 1))));
  }
}

// True if a tab indents the line with this number, from 0.
bool is_tab_indented(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_not_of(" \t")).find('\t') != text.npos;
}

// True if every YAML reader takes the text for a string even without quotes.
bool is_plain(const std::string& s) {
  constexpr std::string_view kWords[] = {"true", "false", "yes",  "no",   "on",  "off",
                                         "y",    "n",     "none", "null", "nan", "inf"};
  std::string lower;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (!std::isalnum(u) && c != '_' && c != '.' && c != '/' && c != '-' && c != '+') return false;
    lower += static_cast<char>(std::tolower(u));
  }
  if (s.empty() || !std::isalpha(static_cast<unsigned char>(s[0]))) return false;
  return std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

// Refuses invalid UTF-8, which yaml-cpp would silently replace by other characters.
void emit(YAML::Emitter& out, const Document& d, const std::string& path) {
  if (d.is_object()) {
    out << (d.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
    for (const auto& [key, value] : d.items()) {
      out << YAML::Key;
      emit(out, key, path);
      out << YAML::Value;
      emit(out, value, path.empty() ? key : path + "." + key);
    }
    out << YAML::EndMap;
  } else if (d.is_array()) {
    const bool scalars =
        std::none_of(d.begin(), d.end(), [](const Document& e) { return e.is_object(); });
    out << (scalars ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const Document& element : d) emit(out, element, path);
    out << YAML::EndSeq;
  } else if (d.is_string()) {
    const auto& s = d.get_ref<const std::string&>();
    if (find_invalid_utf8(s))
      throw ConfigError(fmt::format("{}: expected UTF-8, got '{}'", path, printable(s)));
    if (is_plain(s))
      out << s;
    else
      out << YAML::DoubleQuoted << s;
  } else {
    out << (d.is_null() ? "none" : d.dump());
  }
}

}  // namespace

Document parse_yaml(std::string_view text, std::string_view source, YamlLines* lines,
                    NullWords nulls) {
  check_characters(text, source);
  Builder builder(source, lines, nulls);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    const bool has_tab = is_tab_indented(text, e.mark.line);
    fail_at_line(source, e.mark.line + 1,
                 fmt::format("expected YAML, got a syntax error: {}{}", e.msg,
                             has_tab ? "; a tab indents this line, use spaces" : ""));
  }
  return builder.take();
}

std::string yaml_text(const Document& document) {
  YAML::Emitter out;
  emit(out, document, "");
  // yaml-cpp escapes all control characters but this one, which parse_yaml() refuses. It stands
  // only in double quotes: is_plain() refuses it.
  std::string text;
  for (const char c : std::string_view(out.c_str())) c == 0x7f ? text += "\\x7f" : text += c;
  return text + "\n";
}

}  // namespace axle
