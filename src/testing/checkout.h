// Paths of the files that tests read, from the checkout or from the build.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace axle {

/// Returns a file of the checkout by its path from the top. Only checkout.cpp knows the path of
/// the checkout, so that no object file of a test depends on it and a second checkout takes all of
/// them from the compiler cache.
std::filesystem::path source_file(std::string_view path);

/// Returns the path of numbers from another implementation: testdata/reference/<path>.
std::string reference_file(std::string_view path);

/// Returns the path of the program `axle`, for the tests whose build makes it.
std::filesystem::path built_program();

/// Returns the path of the PJRT plugin that fails on demand.
std::filesystem::path fake_plugin_file();

}  // namespace axle
