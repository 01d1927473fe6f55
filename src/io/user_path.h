// Paths that a user names: what is there, and how they are written in texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace axle {

/// Returns what is wrong with a path; else "". An empty text is what a shell makes of an unset
/// variable; "s3://bucket/run" would name a folder called "s3:".
std::string path_problem(const std::string& path);

/// Returns the bytes of a file that may also be a pipe, a terminal or another device, read to its
/// end: what a shell calls /dev/stdin and <(command). Throws as read_file() does; also for a pipe
/// or a device that holds nothing.
std::string read_stream(const std::filesystem::path& path, int64_t max_bytes);

inline constexpr std::string_view kNothingThere = "nothing there";
/// Returns what is at a path that path_exists() denies: kNothingThere, the system's reason not to
/// let this user look, or what is wrong with an address ("s3://bucket/run").
std::string nothing_at(const std::filesystem::path& path);

/// The text of a path in configs and reports, which are UTF-8. In a path that is not, or that looks
/// like such a text itself, the other bytes are written as \xff, and a backslash as \x5c.
std::string text_of_path(std::string_view path);
/// Returns the path that a text stands for. Where only the text itself is the path of a file, it
/// stays so.
std::filesystem::path path_of_text(const std::string& text);

}  // namespace axle
