# What `./dev install PREFIX` lays down, beside the CPU plugin: headers, libaxle.so, the program, and the CMake package
# `axle`:
#
#   find_package(axle REQUIRED)
#   target_link_libraries(mine PRIVATE axle::axle)   # and #include <axle/axle.h>

include(CMakePackageConfigHelpers)

function(axle_install)
  set(package lib/cmake/axle)
  install(TARGETS axle EXPORT axle_targets LIBRARY DESTINATION lib)
  if(TARGET axle_program)
    install(TARGETS axle_program RUNTIME DESTINATION bin)
  endif()
  # testing/ is for our own tests.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION include/axle
          FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md DESTINATION share/doc/axle)

  install(EXPORT axle_targets NAMESPACE axle:: FILE axleTargets.cmake DESTINATION ${package})
  set(config ${PROJECT_BINARY_DIR}/axleConfig.cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/axleConfig.cmake.in ${config} INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/axleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${config} ${PROJECT_BINARY_DIR}/axleConfigVersion.cmake DESTINATION ${package})
endfunction()

# A test that builds examples/NAME against an installation of this build, finds CLASS in its `config list`, trains RECIPE.
function(axle_example name class recipe)
  if(AXLE_TESTS AND TARGET axle_program)
    add_test(NAME Examples.${name}
             COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_example.sh ${PROJECT_BINARY_DIR} ${name} ${class} ${recipe})
    set_tests_properties(Examples.${name} PROPERTIES LABELS integration SKIP_RETURN_CODE 77 TIMEOUT 600)
  endif()
endfunction()
