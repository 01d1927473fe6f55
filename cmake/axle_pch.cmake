# Precompiled headers, and how floors are optimised in a release. There are three kinds of floor:
#
#   hot    the ones that work on elements, ops and text by the million: -O2; the header holds the standard library and fmt.
#   cold   the other ones below nn: -Os, which halves their code; nlohmann-json too
#   high   nn and all above it: -Os; nn/layer.h too, where sources are compiled in batches (cmake/axle_batches.cmake).
#          Without batches it is left out, so that each source shows that it includes what it uses.
#
# Tests have the same with GoogleTest and -O0: what they compute themselves is little beside what their compilation costs.
#
# A floor that is not hot may have hot folders (AXLE_HOT_FOLDERS), which are an object library of their own.
#
# Of what g++ does at -Os, some passes leave the code of cold and high floors within 0.2 % of its size: without them a
# compilation takes three quarters of its time.
#
#   axle_compile_as_floor(TARGET FLOOR [TESTS | HOT])     FLOOR: the floor that the sources of the target belong to
#
# Headers are named as in an #include: CMake would write the path of a file into what the compiler cache hashes.

set(AXLE_HOT_FLOORS base ir io ops lower)
set(AXLE_HOT_FOLDERS data/tokenizers/parts data/tokenizers/training/merges)
set(AXLE_PCH_HOT
  <algorithm> <array> <atomic> <chrono> <cmath> <concepts> <condition_variable> <cstddef> <cstdint> <cstring>
  <exception> <filesystem> <fstream> <functional> <iostream> <limits> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits>
  <typeinfo> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
set(AXLE_PCH_COLD ${AXLE_PCH_HOT} <nlohmann/json.hpp>)
set(AXLE_PCH_HIGH ${AXLE_PCH_COLD} <config/register.h> <config/replace.h> <nn/layer.h>)
set(AXLE_PCH_TESTS <gmock/gmock.h> <gtest/gtest.h>)

set(AXLE_PASSES_LEFT_OUT "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(pass
      caller-saves code-hoisting cse-follow-jumps expensive-optimizations gcse ipa-cp ipa-icf ipa-pure-const ipa-ra
      ipa-reference ivopts ree rerun-cse-after-loop schedule-insns2 shrink-wrap ssa-phiopt thread-jumps tree-ccp
      tree-copy-prop tree-dominator-opts tree-loop-im tree-pre tree-pta tree-sink tree-slsr tree-vrp)
    list(APPEND AXLE_PASSES_LEFT_OUT $<$<CONFIG:Release>:-fno-${pass}>)
  endforeach()
endif()

function(axle_compile_as_floor target floor)
  cmake_parse_arguments(ARG "TESTS;HOT" "" "" ${ARGN})
  get_property(below GLOBAL PROPERTY AXLE_BELOW_${floor})
  if(ARG_HOT OR floor IN_LIST AXLE_HOT_FLOORS)
    set(kind hot)
  elseif(AXLE_BATCHES AND (floor STREQUAL "nn" OR "nn" IN_LIST below))
    set(kind high)
  else()
    set(kind cold)
  endif()
  set(options "")
  if(ARG_TESTS)
    set(options $<$<CONFIG:Release>:-O0>)
  elseif(NOT kind STREQUAL "hot")
    set(options $<$<CONFIG:Release>:-Os> ${AXLE_PASSES_LEFT_OUT})
  else()  # padding is 1 % of the library; encoding is at most 2 % slower without it
    set(options $<$<CONFIG:Release>:-fno-align-functions> $<$<CONFIG:Release>:-fno-align-jumps>
      $<$<CONFIG:Release>:-fno-align-labels> $<$<CONFIG:Release>:-fno-align-loops>)
  endif()
  string(TOUPPER AXLE_PCH_${kind} headers)
  set(headers ${${headers}})
  set(libraries fmt::fmt)
  if(ARG_TESTS)
    list(APPEND headers ${AXLE_PCH_TESTS})
    list(APPEND libraries GTest::gmock) # its definitions are part of what must be equal
    string(APPEND kind _tests)
  endif()
  if(NOT TARGET axle_pch_${kind})
    add_library(axle_pch_${kind} OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
    target_include_directories(axle_pch_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(axle_pch_${kind} PRIVATE ${libraries})
    target_precompile_headers(axle_pch_${kind} PRIVATE ${headers})
    target_compile_options(axle_pch_${kind} PRIVATE ${options})
  endif()
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM axle_pch_${kind})
endfunction()
