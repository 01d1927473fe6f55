// Python package indexes (PEP 503 and 691): where a pinned file can be downloaded.
//
// The indexes are those that pip would use: its variables (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL),
// then its configuration files, else the public one. AXLE_INDEX_URL (one address or several, with
// blanks between them) stands in place of all of these: a machine that reaches its mirror alone
// must not wait for the public index.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/http.h"
#include "pjrt/plugin/plugin_pins.h"

namespace axle {

/// How this machine reaches packages.
struct PackageIndexes {
  std::vector<std::string> urls;         // "https://pypi.org/simple", in the order of trial
  std::string ca_file = {}, proxy = {};  // empty: those of the environment
};

/// From the environment and pip's files.
PackageIndexes package_indexes();
/// From the environment and these files, a later one over an earlier one; what is missing or can't
/// be read is skipped.
PackageIndexes package_indexes(const std::vector<std::filesystem::path>& pip_config_files);
/// Where pip looks for its configuration, weakest first.
std::vector<std::filesystem::path> pip_config_files();

/// SHA-256 -> address, of the files that a page of an index lists with their hash.
std::map<std::string, std::string> files_of_index_page(const HttpPage& page);

/// Where the wheel's file lies. Throws HttpError naming the indexes that do not have it, or why
/// they do not answer; also once `go_on`, which is asked every second or more often, says no.
std::string find_wheel(
    const PackageIndexes& indexes, const PinnedWheel& wheel,
    const std::function<bool()>& go_on = [] { return true; });

}  // namespace axle
