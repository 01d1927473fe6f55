# Tells src/base/version.cpp what it is: "0.1.0", in a release built from a git checkout "0.1.0+<commit>".
# Not in builds with tests, so that a commit does not relink every test program.

set(AXLE_VERSION ${PROJECT_VERSION})
find_package(Git QUIET)
if(GIT_FOUND AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT AXLE_TESTS)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit MATCHES "^[0-9a-f]+$")
    string(APPEND AXLE_VERSION "+${commit}")
    # Configure again after the next commit.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/version.cpp
                            PROPERTIES COMPILE_DEFINITIONS "AXLE_VERSION=\"${AXLE_VERSION}\"")
