# The table of public tensor functions, for `axle eval-op` and functions written as data: function_table.py writes it from
# the declarations in the headers of src/ops and src/transform, for the code in src/FLOOR/functions.
#
#   axle_function_table(FLOOR)

set(AXLE_FUNCTION_TABLE_TOOL ${CMAKE_CURRENT_LIST_DIR}/function_table.py)

function(axle_function_table floor)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(src ${PROJECT_SOURCE_DIR}/src)
  set(own ${src}/${floor}/functions)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/function_table.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${src}/ops/*.h ${src}/transform/*.h)
  # Written only where it changes: a comment in a header compiles nothing of it again.
  add_custom_command(
    OUTPUT ${out} COMMAND Python3::Interpreter -B ${AXLE_FUNCTION_TABLE_TOOL} ${out} ${src} ${floor}/functions
    DEPENDS ${headers} ${own}/adapters.h ${own}/attribute_value.h ${AXLE_FUNCTION_TABLE_TOOL}
            ${AXLE_CONFIG_DOCS_TOOL}
    VERBATIM)
  target_sources(axle_${floor} PRIVATE ${out})
endfunction()
