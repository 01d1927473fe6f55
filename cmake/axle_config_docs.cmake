# The documentation of config structs, for `axle config describe`: the comments above them and their fields in these
# headers and sources are compiled into the target.
#
#   axle_config_docs(TARGET FILE...)

set(AXLE_CONFIG_DOCS_TOOL ${CMAKE_CURRENT_LIST_DIR}/config_docs.py)

function(axle_config_docs target)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_config_docs.cpp)
  set(files "")
  foreach(file ${ARGN})
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND files ${path})
  endforeach()
  # Written only where it changes: a header without config structs rebuilds nothing.
  add_custom_command(OUTPUT ${out} COMMAND Python3::Interpreter ${AXLE_CONFIG_DOCS_TOOL} ${out} ${files}
                     DEPENDS ${files} ${AXLE_CONFIG_DOCS_TOOL} VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
