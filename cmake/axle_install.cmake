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
  # Of testing/, users get what axle/testing.h reaches: the laws of layers. The library does not have guard/.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION include/axle
          FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE PATTERN "guard" EXCLUDE PATTERN "*_test.h" EXCLUDE)
  set(laws layer_laws padding_law test_layer layer_call layer_inputs gradient_check host_tensors error_of golden)
  list(TRANSFORM laws REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/testing/\\1.h")
  install(FILES ${laws} DESTINATION include/axle/testing)
  install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md
          DESTINATION share/doc/axle)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION share/doc/axle)
  if(TARGET axle_program)
    axle_install_completion(bash share/bash-completion/completions/axle)
    axle_install_completion(zsh share/zsh/site-functions/_axle)
    axle_install_completion(fish share/fish/vendor_completions.d/axle.fish)
  endif()

  install(EXPORT axle_targets NAMESPACE axle:: FILE axleTargets.cmake DESTINATION ${package})
  set(config ${PROJECT_BINARY_DIR}/axleConfig.cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/axleConfig.cmake.in ${config} INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/axleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/axle_config_docs.cmake ${PROJECT_SOURCE_DIR}/cmake/config_docs.py DESTINATION ${package})
  install(FILES ${config} ${PROJECT_BINARY_DIR}/axleConfigVersion.cmake DESTINATION ${package})
endfunction()

# Installs the completion of a shell, which the program itself prints, where the shell looks for it.
function(axle_install_completion shell path)
  install(CODE "
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${path}\")
    message(STATUS \"Installing: \${file}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:axle_program>\" completion ${shell} OUTPUT_FILE \"\${file}\"
      COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# A test that builds examples/NAME against an installation of this build, runs its tests, finds CLASS in its `config list`,
# trains RECIPE, whose program calls KERNEL, and generates text from it.
function(axle_example name class recipe kernel)
  if(AXLE_TESTS AND TARGET axle_program)
    add_test(NAME Examples.${name}
             COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_example.sh ${PROJECT_BINARY_DIR} ${name} ${class} ${recipe} ${kernel})
    set_tests_properties(Examples.${name} PROPERTIES LABELS integration SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "${AXLE_TEST_ENVIRONMENT}")
  endif()
endfunction()

# A test that builds the programs of examples/wrong_layers, each with a mistake that must be named.
function(axle_wrong_layers)
  if(AXLE_TESTS AND TARGET axle_program)
    add_test(NAME Examples.wrong_layers
             COMMAND sh ${PROJECT_SOURCE_DIR}/tools/check_wrong_layers.sh ${PROJECT_BINARY_DIR})
    set_tests_properties(Examples.wrong_layers PROPERTIES ENVIRONMENT "${AXLE_TEST_ENVIRONMENT}" LABELS long TIMEOUT 600)
  endif()
endfunction()

# Tests that run the commands of README.md and docs/, a page each, and compare the flags that they name with the program's.
# A page that takes long says so by the line "<!-- commands: long -->".
function(axle_docs)
  if(AXLE_TESTS AND TARGET axle_program)
    set(check python3 -B ${PROJECT_SOURCE_DIR}/tools/check_docs.py --build ${PROJECT_BINARY_DIR})
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md)
    foreach(page ${pages})
      get_filename_component(name ${page} NAME_WE)
      file(STRINGS ${page} is_long REGEX "^<!-- commands: long -->$")
      set(label integration)
      if(is_long)
        set(label long)
      endif()
      add_test(NAME Docs.${name} COMMAND ${check} ${page})
      set_tests_properties(Docs.${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 600
        ENVIRONMENT "${AXLE_TEST_ENVIRONMENT}")
    endforeach()
    add_test(NAME Docs.Flags COMMAND ${check} --flags)
    add_test(NAME Docs.Walks
             COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tools/check_walks.py --build ${PROJECT_BINARY_DIR})
    set_tests_properties(Docs.Flags Docs.Walks PROPERTIES LABELS integration TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "${AXLE_TEST_ENVIRONMENT}")
  endif()
endfunction()
