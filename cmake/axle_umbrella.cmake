# A header that includes every header of a folder of src/: layers/layers.h, for users of the installed library. It is
# written from what the folder holds, so that a new file needs no line in a list. Files of Axle itself include what they
# use.
#
#   axle_umbrella(FOLDER...)

function(axle_umbrella)
  foreach(folder ${ARGN})
    file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.h)
    list(FILTER headers EXCLUDE REGEX "_test\\.h$")
    list(SORT headers)
    list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN headers "" includes)
    set(umbrella ${PROJECT_BINARY_DIR}/umbrella/${folder}.h)
    file(CONFIGURE OUTPUT ${umbrella} @ONLY
         CONTENT "// Includes every header of ${folder}/. Written by cmake/axle_umbrella.cmake.\n#pragma once\n\n@includes@")
    install(FILES ${umbrella} DESTINATION include/axle/${folder})
  endforeach()
endfunction()
