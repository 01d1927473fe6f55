# The compiler cache, set so that a second checkout compiles nothing that the first has compiled: no absolute path may
# enter what ccache hashes.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}           # paths below it are hashed relative to the build folder
    CCACHE_NOHASHDIR=1                             # nor does the build folder itself count
    CCACHE_SLOPPINESS=pch_defines,time_macros      # without it ccache refuses whatever uses a precompiled header
    # Headers count as they stand, not as they are preprocessed: a precompiled header keeps a checksum of each of its
    # headers for `#pragma once`. One that was made before a comment changed would define that header's classes twice.
    CCACHE_DEPEND=1
    CCACHE_NAMESPACE=axle                          # apart from what was cached without the line above
    ${CCACHE})
  # Debug information and __FILE__ name sources relative to the checkout: start the debugger there.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
