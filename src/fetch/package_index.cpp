#include "fetch/package_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/environment.h"
#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using PipSettings = std::map<std::string, std::string>;  // "global.index-url" -> value

constexpr const char* kPublicIndex = "https://pypi.org/simple";

/// Reads "[global]", "key = value", and values that continue in indented lines.
void read_settings(const fs::path& file, PipSettings& out) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return;
  std::string text;
  try {
    text = read_file(file);
  } catch (const StorageError&) {
    return;  // pip also skips a file that it can't read
  }
  std::string section, key;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trim(line);
    if (content.empty() || content[0] == '#' || content[0] == ';') continue;
    if (content.front() == '[' && content.back() == ']') {
      section = lower_case(content.substr(1, content.size() - 2));
      key.clear();
    } else if ((line[0] == ' ' || line[0] == '\t') && !key.empty()) {
      out[key] += "\n" + std::string(content);
    } else if (const size_t sign = content.find_first_of("=:"); sign != content.npos) {
      key = section + "." + lower_case(trim(content.substr(0, sign)));
      std::ranges::replace(key, '_', '-');
      out[key] = std::string(trim(content.substr(sign + 1)));
    }
  }
}

/// Returns the value of the environment variable, else of the key in pip's section [download], else
/// in [global]; empty if none is set.
std::string setting(const PipSettings& settings, const char* name_of_variable,
                    const std::string& key) {
  if (std::string value = environment_variable(name_of_variable); !value.empty()) return value;
  for (const char* section : {"download.", "global."}) {
    const auto found = settings.find(section + key);
    if (found != settings.end() && !found->second.empty()) return found->second;
  }
  return {};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

/// Returns the name as indexes write it: "My.Pkg_x" -> "my-pkg-x".
std::string normalized_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_separator = c == '-' || c == '_' || c == '.';
    if (!is_separator) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.ends_with('-')) {
      out += '-';
    }
  }
  return out;
}

std::string without_entities(std::string text) {
  for (size_t at = 0; (at = text.find("&amp;", at)) != text.npos; ++at) text.erase(at + 1, 4);
  return text;
}

/// Returns the values of all href attributes.
std::vector<std::string> links_of(const std::string& html) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = html.find("href", at)) != html.npos;) {
    at = html.find_first_not_of(" \t\n\r", at + 4);
    if (at == html.npos || html[at] != '=') continue;
    at = html.find_first_not_of(" \t\n\r", at + 1);
    if (at == html.npos) break;
    if (html[at] != '"' && html[at] != '\'') continue;
    const size_t end = html.find(html[at], at + 1);
    if (end == html.npos) break;
    out.push_back(without_entities(html.substr(at + 1, end - at - 1)));
    at = end;
  }
  return out;
}

std::map<std::string, std::string> files_of_json(const HttpPage& page) {
  const std::string where = printable_url(page.url) + ": expected the page of a package";
  return json_as<HttpError>(where, [&] {
    const auto document = read_json(page.body);
    std::map<std::string, std::string> out;
    for (const JsonView& file : JsonView(document).at("files").elements()) {
      const auto hashes = file.find("hashes");
      const auto hash = hashes ? hashes->find("sha256") : std::nullopt;
      const auto url = file.find("url");
      if (hash && url) out[lower_case(hash->text())] = resolve_url(page.url, url->text());
    }
    return out;
  });
}

}  // namespace

std::vector<fs::path> pip_config_files() {
  const std::string home = environment_variable("HOME");
  const std::string own = environment_variable("PIP_CONFIG_FILE");
  if (own == "/dev/null") return {};  // tells pip to read no configuration file
  std::vector<fs::path> out;
  std::string folders = environment_variable("XDG_CONFIG_DIRS");
  if (folders.empty()) folders = "/etc/xdg";
  for (const std::string_view folder : split(folders, ':'))
    out.push_back(fs::path(folder) / "pip/pip.conf");
  out.emplace_back("/etc/pip.conf");
  if (!home.empty()) out.push_back(fs::path(home) / ".pip/pip.conf");
  if (const std::string folder = environment_variable("XDG_CONFIG_HOME"); !folder.empty()) {
    out.push_back(fs::path(folder) / "pip/pip.conf");
  } else if (!home.empty()) {
    out.push_back(fs::path(home) / ".config/pip/pip.conf");
  }
  if (const std::string folder = environment_variable("VIRTUAL_ENV"); !folder.empty())
    out.push_back(fs::path(folder) / "pip.conf");
  if (!own.empty()) out.emplace_back(own);
  return out;
}

PackageIndexes package_indexes(const std::vector<fs::path>& files) {
  PipSettings settings;
  for (const fs::path& file : files) read_settings(file, settings);
  PackageIndexes out{.urls = {},
                     .ca_file = setting(settings, "PIP_CERT", "cert"),
                     .proxy = setting(settings, "PIP_PROXY", "proxy")};
  out.urls = words_of(environment_variable("AXLE_INDEX_URL"));
  if (!out.urls.empty()) return out;
  const std::string first = setting(settings, "PIP_INDEX_URL", "index-url");
  out.urls.push_back(first.empty() ? kPublicIndex : first);
  for (const std::string& url :
       words_of(setting(settings, "PIP_EXTRA_INDEX_URL", "extra-index-url")))
    out.urls.push_back(url);
  return out;
}

PackageIndexes package_indexes() { return package_indexes(pip_config_files()); }

std::map<std::string, std::string> files_of_index_page(const HttpPage& page) {
  if (page.content_type.find("json") != std::string::npos) return files_of_json(page);
  constexpr std::string_view kHash = "#sha256=";
  std::map<std::string, std::string> out;
  for (const std::string& link : links_of(page.body)) {
    const size_t hash = link.find(kHash);
    if (hash == link.npos) continue;
    out[lower_case(link.substr(hash + kHash.size(), 64))] =
        resolve_url(page.url, link.substr(0, hash));
  }
  return out;
}

std::string wheel_address(const PackageIndexes& indexes, const PinnedWheel& wheel,
                          const std::function<bool()>& go_on) {
  const HttpOptions options{
      .headers = {"Accept: application/vnd.pypi.simple.v1+json, text/html;q=0.5"},
      .ca_file = indexes.ca_file,
      .proxy = indexes.proxy,
      .progress = [&](int64_t, int64_t) { return go_on(); }};
  std::vector<std::string> without_it;
  std::string problem;
  for (std::string url : indexes.urls) {
    while (url.ends_with('/')) url.pop_back();
    url += "/" + normalized_name(wheel.name) + "/";
    if (!go_on()) throw HttpError(fmt::format("{}: stopped while loading", printable_url(url)));
    try {
      const auto files = files_of_index_page(http_get(url, options));
      if (const auto found = files.find(wheel.sha256); found != files.end()) return found->second;
      without_it.push_back(printable_url(url));
    } catch (const HttpError& error) {
      if (error.status == 404) {
        without_it.push_back(printable_url(url));
      } else if (problem.empty()) {
        problem = error.what();
      }
    }
  }
  if (!problem.empty()) throw HttpError(problem);
  throw HttpError(fmt::format("{}: expected {} {} with sha256 {}, got no such file",
                              fmt::join(without_it, ", "), wheel.name, wheel.version,
                              wheel.sha256));
}

}  // namespace axle
