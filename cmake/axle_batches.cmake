# A batch is one compilation of several sources that lie side by side. Most of the time of a compilation goes into headers
# and templates, and a batch compiles them once. After an edit, a source alone compiles sooner than its batch: batches are
# for builds from nothing. Names in anonymous namespaces of a floor differ, so that both ways build.
#
#   axle_batches(OUT NAME [FOLDERS] SOURCE...)     the sources to compile in place of these: files that include them
#
# FOLDERS: a batch has the sources of one folder. Tests do this: their names differ only within a folder and a label.

option(AXLE_BATCHES "Compile sources in batches: faster from nothing, slower after an edit" OFF)
set(AXLE_BATCH_BYTES 50000 CACHE STRING "A batch ends with the source that reaches so many bytes")

function(axle_batches out name)
  cmake_parse_arguments(ARG "FOLDERS" "" "" ${ARGN})
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  if(NOT AXLE_BATCHES)
    set(${out} ${sources} PARENT_SCOPE)
    return()
  endif()
  set(compiled "")
  set(includes "")
  set(bytes 0)
  set(count 0)
  set(folder "")
  foreach(source ${sources} END)
    get_filename_component(folder_of_source ${source} DIRECTORY)
    set(ends OFF)
    if(source STREQUAL END OR bytes GREATER_EQUAL AXLE_BATCH_BYTES)
      set(ends ON)
    elseif(ARG_FOLDERS AND NOT folder STREQUAL folder_of_source)
      set(ends ON)
    endif()
    if(ends AND includes)
      set(batch ${PROJECT_BINARY_DIR}/batches/${name}_${count}.cpp)
      file(CONFIGURE OUTPUT ${batch} @ONLY CONTENT "// Written by cmake/axle_batches.cmake.\n@includes@")
      list(APPEND compiled ${batch})
      math(EXPR count "${count} + 1")
      set(includes "")
      set(bytes 0)
    endif()
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions) # a source with flags of its own
      list(APPEND compiled ${source})
    elseif(NOT source STREQUAL END)
      # Relative to src/: an absolute path would be part of what the compiler cache hashes.
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${source})
      file(SIZE ${source} size)
      math(EXPR bytes "${bytes} + ${size}")
      string(APPEND includes "#include \"${path}\"\n")
      set(folder ${folder_of_source})
    endif()
  endforeach()
  set(${out} ${compiled} PARENT_SCOPE)
endfunction()
