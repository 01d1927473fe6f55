// The YAML half of config/serialize.h.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/serialize.h"

namespace axle {
namespace {

using Document = nlohmann::ordered_json;

bool is_null_word(const std::string& s) {
  return s.empty() || s == "none" || s == "null" || s == "~";
}

[[noreturn]] void fail(std::string_view source, const YAML::Mark& mark, std::string_view message) {
  throw ConfigError(fmt::format("{}:{}: {}", source, mark.line + 1, message));
}

Document document_of(const YAML::Node& node, std::string_view source) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar: {
      const bool plain = node.Tag() != "!";
      return plain && is_null_word(node.Scalar()) ? Document(nullptr) : Document(node.Scalar());
    }
    case YAML::NodeType::Sequence: {
      Document out = Document::array();
      for (const YAML::Node& element : node) out.push_back(document_of(element, source));
      return out;
    }
    case YAML::NodeType::Map: {
      Document out = Document::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar())
          fail(source, entry.first.Mark(), "expected a name as key, got a list or mapping");
        const std::string& key = entry.first.Scalar();
        if (out.contains(key))
          fail(source, entry.first.Mark(),
               fmt::format("expected each key once, got '{}' twice", key));
        out[key] = document_of(entry.second, source);
      }
      return out;
    }
    default:
      return nullptr;
  }
}

// Text that every YAML reader takes for a string without quotes.
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

void emit(YAML::Emitter& out, const Document& d) {
  if (d.is_object()) {
    out << (d.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
    for (const auto& [key, value] : d.items()) {
      out << YAML::Key;
      emit(out, key);
      out << YAML::Value;
      emit(out, value);
    }
    out << YAML::EndMap;
  } else if (d.is_array()) {
    const bool scalars =
        std::none_of(d.begin(), d.end(), [](const Document& e) { return e.is_object(); });
    out << (scalars ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const Document& element : d) emit(out, element);
    out << YAML::EndSeq;
  } else if (d.is_string()) {
    const auto& s = d.get_ref<const std::string&>();
    if (is_plain(s))
      out << s;
    else
      out << YAML::DoubleQuoted << s;
  } else {
    out << (d.is_null() ? "none" : d.dump());
  }
}

}  // namespace

Document parse_yaml(std::string_view text, std::string_view source) {
  try {
    return document_of(YAML::Load(std::string(text)), source);
  } catch (const YAML::Exception& e) {
    fail(source, e.mark, fmt::format("expected YAML, got a syntax error: {}", e.msg));
  }
}

std::string yaml_text(const Document& document) {
  YAML::Emitter out;
  emit(out, document);
  return std::string(out.c_str()) + "\n";
}

}  // namespace axle
