# A batch is one compilation of several sources that lie side by side. Most of the time of a compilation goes into headers
# and templates, and a batch compiles them once. After an edit, a source alone compiles sooner than its batch: batches are
# for builds from nothing. Names in anonymous namespaces differ within a floor, so that both ways build.
#
#   axle_batches(OUT NAME SOURCE...)     the sources to compile in place of these: files that include them

option(AXLE_BATCHES "Compile sources in batches: faster from nothing, slower after an edit" OFF)
set(AXLE_BATCH_BYTES 120000 CACHE STRING "A batch ends with the source that reaches so many bytes")

function(axle_batches out name)
  if(NOT AXLE_BATCHES)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(compiled "")
  set(includes "")
  set(bytes 0)
  set(count 0)
  foreach(source ${ARGN} END)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions) # a source with flags of its own
      list(APPEND compiled ${source})
      continue()
    endif()
    if(NOT source STREQUAL END)
      # Relative to src/: an absolute path would be part of what the compiler cache hashes.
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${source})
      file(SIZE ${source} size)
      math(EXPR bytes "${bytes} + ${size}")
      string(APPEND includes "#include \"${path}\"\n")
    endif()
    if(includes AND (source STREQUAL END OR bytes GREATER_EQUAL AXLE_BATCH_BYTES))
      set(batch ${PROJECT_BINARY_DIR}/batches/${name}_${count}.cpp)
      file(CONFIGURE OUTPUT ${batch} @ONLY CONTENT "// Written by cmake/axle_batches.cmake.\n@includes@")
      list(APPEND compiled ${batch})
      math(EXPR count "${count} + 1")
      set(includes "")
      set(bytes 0)
    endif()
  endforeach()
  set(${out} ${compiled} PARENT_SCOPE)
endfunction()
