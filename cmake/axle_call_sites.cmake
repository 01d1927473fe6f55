# What errors need to name lines of the source (src/ir/call_site.h): frame pointers, calls that keep their frames, line
# tables, and libbacktrace, which comes with gcc. Without it errors name no lines.

set(AXLE_CALL_SITE_OPTIONS -fno-omit-frame-pointer -fno-optimize-sibling-calls
    $<$<NOT:$<CONFIG:Debug,RelWithDebInfo>>:-g1>) # Debug has more
add_compile_options(${AXLE_CALL_SITE_OPTIONS})

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles("#include <backtrace.h>
int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }" AXLE_HAS_BACKTRACE)
unset(CMAKE_REQUIRED_LIBRARIES)
if(AXLE_HAS_BACKTRACE)
  set(AXLE_BACKTRACE backtrace)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/ir/call_site.cpp PROPERTIES COMPILE_DEFINITIONS AXLE_HAS_BACKTRACE)
endif()
