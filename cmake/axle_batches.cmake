# A batch is one compilation of several sources of a target. Most of the time of a compilation goes into headers and
# templates, and a batch compiles them once. After an edit, a source alone compiles sooner than its batch: batches are for
# builds from nothing. batches.py keeps sources with the same file-level names apart, so that both ways build.
#
#   axle_batches(OUT NAME [TESTS] SOURCE...)     the sources to compile in place of these
#
# The larger the batches, the sooner a build from nothing is done. Small ones of a few floors (AXLE_EDITED_FLOORS) let a
# changed layer be in the program within seconds. Tests are not optimised, so that their largest batches are
# the fastest. Their functions often take lambdas, which fit many overloads.

option(AXLE_BATCHES "Compile sources in batches: faster from nothing, slower after an edit" OFF)
set(AXLE_EDITED_FLOORS layers learn modifiers) # the ones whose files are edited most
set(AXLE_BATCHES_TOOL ${CMAKE_CURRENT_LIST_DIR}/batches.py)
if(AXLE_BATCHES)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${AXLE_BATCHES_TOOL})
endif()

function(axle_batches out name)
  cmake_parse_arguments(ARG "TESTS" "" "" ${ARGN})
  if(NOT AXLE_BATCHES)
    set(${out} ${ARG_UNPARSED_ARGUMENTS} PARENT_SCOPE)
    return()
  endif()
  set(alone "")
  set(together "")
  foreach(source ${ARG_UNPARSED_ARGUMENTS})
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions) # a source with flags of its own
      list(APPEND alone ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  set(bytes 160000)
  set(overloads 1)
  if(ARG_TESTS)
    set(bytes 150000)
    set(overloads 0)
  elseif(name IN_LIST AXLE_EDITED_FLOORS)
    set(bytes 50000)
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} -ISB ${AXLE_BATCHES_TOOL} ${PROJECT_BINARY_DIR}/batches ${name} ${bytes}
                          ${overloads} ${PROJECT_SOURCE_DIR}/src ${together}
                  OUTPUT_VARIABLE batches OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" batches "${batches}")
  # What a source declares may have the name of what another one has at file level.
  set_source_files_properties(${batches} PROPERTIES COMPILE_OPTIONS -Wno-shadow)
  set(${out} ${batches} ${alone} PARENT_SCOPE)
endfunction()
