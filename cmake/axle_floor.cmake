# One floor = one folder of src/ with its sub-folders = one object library and its test programs.
#
#   axle_floor(NAME FLOORS lower... LIBRARIES external... TEST_FLOORS lower...)
#
# TEST_FLOORS are floors that the tests alone need (reading reference numbers, say).
# Sources are found by name: x.cpp is library code, x_test.cpp a test. A test file's suffix is its ctest label:
# x_plugin_test.cpp needs a PJRT plugin, x_parity_test.cpp reference numbers, x_abi_test.cpp the published header,
# x_long_test.cpp runs for long, x_fault_test.cpp injects faults, x_target_test.cpp needs the plugin of another platform,
# which compiles for devices that are not here, x_foreign_test.cpp files of others in the folder that AXLE_FOREIGN_DATA
# names; each label of a floor is one program.

set(AXLE_TEST_KINDS plugin parity abi long fault integration target foreign)

# Tests use none of the user's caches, and each transform verifies its graph.
set(AXLE_TEST_ENVIRONMENT AXLE_VERIFY=1 AXLE_COMPILE_CACHE=none XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/cache)

# Other compilers warn of other things than the one of Debian 12, which CI has.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(checked_compiler ON)
endif()
option(AXLE_WERROR "Warnings are errors" ${checked_compiler})

function(axle_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
    # Where the optimiser inlines deeply, g++ 12 sees overflows in the standard library that are not there.
    $<$<CONFIG:Release>:-Wno-stringop-overflow;-Wno-restrict;-Wno-maybe-uninitialized>)
  if(AXLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(axle_floor name)
  cmake_parse_arguments(ARG "" "" "FLOORS;LIBRARIES;TEST_FLOORS" ${ARGN})
  set(dir ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${dir}/*_test.cpp)
  list(REMOVE_ITEM sources ${tests} "")

  # What this floor stands on, lowest first, and the external libraries of all of it.
  set(below "")
  set(libraries ${ARG_LIBRARIES})
  foreach(floor ${ARG_FLOORS})
    get_property(under GLOBAL PROPERTY AXLE_BELOW_${floor})
    get_property(their GLOBAL PROPERTY AXLE_LIBRARIES_${floor})
    list(APPEND below ${under} ${floor})
    list(APPEND libraries ${their})
  endforeach()
  list(REMOVE_DUPLICATES below)
  list(REMOVE_DUPLICATES libraries)
  set_property(GLOBAL PROPERTY AXLE_BELOW_${name} "${below}")
  set_property(GLOBAL PROPERTY AXLE_LIBRARIES_${name} "${libraries}")
  set_property(GLOBAL APPEND PROPERTY AXLE_FLOORS ${name})
  set_property(GLOBAL PROPERTY AXLE_TEST_FLOORS_${name} "${ARG_TEST_FLOORS}")

  set(hot "")
  foreach(folder ${AXLE_HOT_FOLDERS})
    set(of_folder ${sources})
    list(FILTER of_folder INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/${folder}/")
    list(APPEND hot ${of_folder})
  endforeach()
  list(REMOVE_ITEM sources ${hot} "")
  axle_floor_objects(${name} ${name} "${sources}" "${libraries}")
  axle_floor_objects(${name}_hot ${name} "${hot}" "${libraries}" HOT)
  if(AXLE_TESTS AND tests)
    axle_floor_tests(${name} "${tests}")
  endif()
endfunction()

# The object library axle_<part> of some sources of a floor; none without sources.
function(axle_floor_objects part floor sources libraries)
  if(NOT sources)
    return()
  endif()
  axle_batches(sources ${part} ${sources})
  add_library(axle_${part} OBJECT ${sources})
  target_include_directories(axle_${part} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(axle_${part} PUBLIC ${libraries})
  axle_compile_as_floor(axle_${part} ${floor} ${ARGN})
  axle_warnings(axle_${part})
endfunction()

# The object files of the named floors and of all below them.
function(axle_objects out)
  set(floors "")
  foreach(name ${ARGN})
    get_property(below GLOBAL PROPERTY AXLE_BELOW_${name})
    list(APPEND floors ${below} ${name})
  endforeach()
  list(REMOVE_DUPLICATES floors)
  set(objects "")
  foreach(floor ${floors})
    foreach(part ${floor} ${floor}_hot)
      if(TARGET axle_${part})
        list(APPEND objects $<TARGET_OBJECTS:axle_${part}>)
      endif()
    endforeach()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

function(axle_floor_tests name tests)
  find_package(GTest REQUIRED)
  set(rest ${tests})
  foreach(kind ${AXLE_TEST_KINDS})
    set(of_kind ${tests})
    list(FILTER of_kind INCLUDE REGEX "_${kind}_test\\.cpp$")
    if(of_kind)
      list(REMOVE_ITEM rest ${of_kind})
      axle_test_program(${name}_${kind}_test ${name} ${kind} "${of_kind}")
    endif()
  endforeach()
  if(rest)
    axle_test_program(${name}_test ${name} unit "${rest}")
  endif()
endfunction()

function(axle_test_program program floor label sources)
  get_property(also GLOBAL PROPERTY AXLE_TEST_FLOORS_${floor})
  axle_objects(objects ${floor} ${also})
  set(libraries "")
  foreach(used ${floor} ${also})
    get_property(theirs GLOBAL PROPERTY AXLE_LIBRARIES_${used})
    list(APPEND libraries ${theirs})
  endforeach()
  # testing/ is for tests alone; what of it a test may use is what its includes reach.
  axle_batches(sources ${program} TESTS ${sources})
  add_executable(${program} ${sources} ${objects})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # The published PJRT header, if tools/fetch_pjrt_header.sh has fetched it.
  set(published ${PROJECT_SOURCE_DIR}/.axle/pjrt_header)
  if(label STREQUAL "abi" AND EXISTS ${published})
    target_include_directories(${program} SYSTEM PRIVATE ${published})
  endif()
  if(floor MATCHES "^(pjrt|guard)$" AND label STREQUAL "fault")
    axle_use_fake_plugin(${program})
  endif()
  if(floor STREQUAL "guard" AND label STREQUAL "integration")
    add_dependencies(${program} axle_program)
  endif()
  axle_test_paths()
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:axle_test_paths>)
  target_link_libraries(${program} PRIVATE ${libraries} GTest::gmock GTest::gtest_main)
  # Compiled as the library is (-fPIC, where a program has -fPIE), or the precompiled header does not fit.
  set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${program} PRIVATE -fPIC)
  axle_compile_as_floor(${program} ${floor} TESTS)
  axle_warnings(${program})
  axle_discover_tests(${program} ${label} ${program}_TESTS -Weekly*)
  axle_discover_tests(${program} long ${program}_WEEKLY_TESTS Weekly*)
  set(environment ${AXLE_TEST_ENVIRONMENT})
  # The numbers of small programs need no fast code. The floor of the plugin itself asks for the default.
  if(label STREQUAL "plugin" AND NOT floor STREQUAL "pjrt")
    list(APPEND environment XLA_FLAGS=--xla_backend_optimization_level=0)
  endif()
  axle_set_environment(${program} ${environment})
endfunction()

# Tests whose suite is named Weekly... take too long for each run: they are labelled long, wherever they stand.
function(axle_discover_tests program label list filter)
  include(GoogleTest)
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES TEST_FILTER "${filter}"
    TEST_LIST ${list} PROPERTIES LABELS "${label}" TIMEOUT 600)
endfunction()

# The environment of each test of the program. gtest_discover_tests keeps the first variable of a list and drops the
# others, so a file that ctest reads after the tests' list says it.
function(axle_set_environment program)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}_environment.cmake)
  file(WRITE ${file} "foreach(test IN LISTS ${program}_TESTS ${program}_WEEKLY_TESTS)
  set_tests_properties(\${test} PROPERTIES ENVIRONMENT \"${ARGN}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# The PJRT plugin that fails on demand, a shared object of its own.
function(axle_use_fake_plugin program)
  if(NOT TARGET axle_fake_pjrt)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/testing/fake_plugin/*.cpp)
    add_library(axle_fake_pjrt MODULE EXCLUDE_FROM_ALL ${sources} ${PROJECT_SOURCE_DIR}/src/io/proto.cpp)
    target_include_directories(axle_fake_pjrt PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(axle_fake_pjrt PRIVATE fmt::fmt Threads::Threads)
    axle_warnings(axle_fake_pjrt)
  endif()
  add_dependencies(${program} axle_fake_pjrt)
endfunction()

# The one object that knows absolute paths (testing/checkout.h); every test program has it.
function(axle_test_paths)
  if(NOT TARGET axle_test_paths)
    add_library(axle_test_paths OBJECT ${PROJECT_SOURCE_DIR}/src/testing/checkout.cpp)
    target_include_directories(axle_test_paths PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(axle_test_paths PRIVATE AXLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      AXLE_PROGRAM="${PROJECT_BINARY_DIR}/axle" AXLE_FAKE_PLUGIN="${PROJECT_BINARY_DIR}/libaxle_fake_pjrt.so")
    axle_warnings(axle_test_paths)
  endif()
endfunction()
# libaxle.so of all floors but `guard`, and the program `axle`, which alone has that one.
function(axle_library)
  get_property(libraries GLOBAL PROPERTY AXLE_LIBRARIES_cli)
  axle_objects(objects cli)
  add_library(axle SHARED ${objects})
  set_target_properties(axle PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION 0)
  # What makes the library small: calls inside of it go past the table of exported functions, and templates of other
  # libraries are not exported.
  if(LLD)
    set(exported ${PROJECT_SOURCE_DIR}/cmake/exported_symbols.txt)
    target_link_options(axle PRIVATE LINKER:-Bsymbolic-functions,-O2,--gc-sections LINKER:--version-script=${exported})
    set_target_properties(axle PROPERTIES LINK_DEPENDS ${exported})
    # The places that the loader moves, packed: 2 % of the library. glibc 2.36 reads them, and only of a library that
    # says so, as GNU ld writes it and LLD 14 does not.
    find_program(AXLE_GNU_LD ld.bfd)
    execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc ERROR_QUIET)
    set(help "")
    if(AXLE_GNU_LD)
      execute_process(COMMAND ${AXLE_GNU_LD} --help OUTPUT_VARIABLE help ERROR_QUIET)
    endif()
    if(help MATCHES "pack-relative-relocs" AND libc MATCHES "glibc ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 2.36)
      target_link_options(axle PRIVATE -fuse-ld=bfd LINKER:-z,pack-relative-relocs)
    endif()
  endif()
  # fmt alone is named by headers; users of the library need none of the others.
  target_link_libraries(axle PUBLIC fmt::fmt PRIVATE ${libraries})
  target_compile_features(axle PUBLIC cxx_std_20)
  target_compile_options(axle INTERFACE ${AXLE_CALL_SITE_OPTIONS}) # errors name lines of the user's code too
  target_include_directories(axle PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/axle>)
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/axle/main.cpp)
    add_executable(axle_program ${PROJECT_SOURCE_DIR}/src/axle/main.cpp ${PROJECT_SOURCE_DIR}/src/axle/huge_pages.cpp)
    target_include_directories(axle_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
    set_target_properties(axle_program PROPERTIES OUTPUT_NAME axle INSTALL_RPATH "$ORIGIN/../lib" BUILD_RPATH_USE_ORIGIN ON)
    target_sources(axle_program PRIVATE $<TARGET_OBJECTS:axle_guard>)
    target_link_libraries(axle_program PRIVATE axle ${AXLE_EXPORT_OF_GUARD})
    axle_warnings(axle_program)
  endif()
endfunction()
