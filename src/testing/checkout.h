// Files that tests read: of the checkout, and what the build made for them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace axle {

/// A file of the checkout, by its path from the top. Only checkout.cpp knows where that is, so that
/// no test's object depends on it and a second checkout takes them all from the compiler cache.
std::filesystem::path source_file(std::string_view path);

/// Numbers of another implementation: testdata/reference/<path>.
std::string reference_file(std::string_view path);

/// The PJRT plugin that fails on demand.
std::filesystem::path fake_plugin_file();

}  // namespace axle
