// Where the program keeps what it made or fetched.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace axle {

/// Returns `axle` in XDG_CACHE_HOME, or else in ~/.cache; empty if neither is known. The folder
/// need not exist.
std::filesystem::path user_cache_folder();

/// Returns the folders in which things of one kind ("plugins") are searched, in this order. Not all
/// of them exist.
///   `.axle/<kind>` in the current directory
///   `.axle/<kind>` in the folder of the running program and in each of its parents
///   `axle/<kind>` beside the installed library
///   `.axle/<kind>` in the home directory
std::vector<std::filesystem::path> own_folders(const std::string& kind);

}  // namespace axle
