#include "pjrt/plugin/plugin_pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr std::string_view kFile = "# file: ";

std::filesystem::path note_of(const PluginPins& pins, const std::filesystem::path& folder) {
  return folder / (pins.platform + ".txt");
}

}  // namespace

PluginPins parse_plugin_pins(std::string_view platform, std::string_view list) {
  static const Regex wheel_line(
      R"(([A-Za-z0-9._-]+)==([A-Za-z0-9.+_-]+) --hash=sha256:([0-9a-f]{64})  # ([0-9]{1,15}) bytes)");
  PluginPins out{.platform = std::string(platform), .list = std::string(list)};
  std::string file;
  int number = 0;
  for (const std::string_view view : split(list, '\n')) {
    ++number;
    const std::string line(view);
    if (line.starts_with(kFile)) {
      file = line.substr(kFile.size());
    } else if (line.empty() || line.starts_with('#')) {
      continue;
    } else if (const auto parts = wheel_line.match(line); parts && !file.empty()) {
      out.wheels.push_back({(*parts)[1], (*parts)[2], (*parts)[3], std::stoll((*parts)[4]), file});
      file.clear();
    } else {
      throw DataError(fmt::format(
          "{}.txt:{}: expected '# file: PATH', then NAME==VERSION --hash=sha256:...  # N bytes, "
          "got '{}'",
          platform, number, line));
    }
  }
  return out;
}

const PluginPins* plugin_pins(std::string_view platform) {
  static const std::vector<PluginPins> all = [] {
    std::vector<PluginPins> out;
    for (const auto& list : detail::plugin_lists())
      out.push_back(parse_plugin_pins(list.platform, list.text));
    return out;
  }();
  const auto found = std::ranges::find(all, platform, &PluginPins::platform);
  return found == all.end() ? nullptr : &*found;
}

std::vector<PinnedWheel> outdated_wheels(const PluginPins& pins,
                                         const std::filesystem::path& folder) {
  const auto note = note_of(pins, folder);
  std::vector<PinnedWheel> unpacked;
  if (path_exists(note)) {
    try {
      unpacked = parse_plugin_pins(pins.platform, read_file(note)).wheels;
    } catch (const DataError&) {
      unpacked.clear();  // another version of Axle wrote the list, so the wheels are unknown
    }
  }
  std::vector<PinnedWheel> out;
  for (const PinnedWheel& wheel : pins.wheels) {
    if (!std::ranges::count(unpacked, wheel) || !path_exists(folder / wheel.file))
      out.push_back(wheel);
  }
  return out;
}

void record_unpacked(const PluginPins& pins, const std::vector<PinnedWheel>& wheels,
                     const std::filesystem::path& folder) {
  std::vector<PinnedWheel> missing = outdated_wheels(pins, folder);
  std::erase_if(missing, [&](const auto& wheel) { return std::ranges::count(wheels, wheel) > 0; });
  std::string lines;
  for (const PinnedWheel& wheel : pins.wheels) {
    if (std::ranges::count(missing, wheel) > 0) continue;
    lines += fmt::format("{}{}\n{}=={} --hash=sha256:{}  # {} bytes\n", kFile, wheel.file,
                         wheel.name, wheel.version, wheel.sha256, wheel.size_bytes);
  }
  replace_file(note_of(pins, folder), missing.empty() ? pins.list : lines);
}

}  // namespace axle
