// Finding the download address of a pinned file in Python package indexes (PEP 503 and 691).
//
// The indexes are those that pip would use: its variables (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL),
// then its configuration files, else the public index. AXLE_INDEX_URL (one or more addresses,
// separated by blanks) replaces all of these, so that a machine that can reach only a mirror does
// not wait for the public index.
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
  std::vector<std::string> urls;         // "https://pypi.org/simple", in the order they are tried
  std::string ca_file = {}, proxy = {};  // empty: the defaults of the environment
};

/// Reads the indexes from the environment and pip's configuration files.
PackageIndexes package_indexes();
/// Reads the indexes from the environment and the given files. A later file overrides an earlier
/// one; files that are missing or unreadable are skipped.
PackageIndexes package_indexes(const std::vector<std::filesystem::path>& pip_config_files);
/// Returns the places of pip's configuration files, lowest priority first.
std::vector<std::filesystem::path> pip_config_files();

/// Returns SHA-256 -> address for the files that an index page lists with a hash.
std::map<std::string, std::string> files_of_index_page(const HttpPage& page);

/// Returns the address of the wheel's file. Throws HttpError, which names the indexes that do not
/// have the file or says why they do not answer. Also throws HttpError once `go_on`, which is
/// called at least every second, returns false.
std::string wheel_address(
    const PackageIndexes& indexes, const PinnedWheel& wheel,
    const std::function<bool()>& go_on = [] { return true; });

}  // namespace axle
