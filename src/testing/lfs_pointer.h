// What git leaves in place of a large file that it did not fetch.
#pragma once

#include <string_view>

namespace axle {

inline constexpr std::string_view kLfsPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n";
inline constexpr std::string_view kLfsPointerNamed =
    "got a git-LFS pointer; `git lfs pull` fetches the file itself";

}  // namespace axle
