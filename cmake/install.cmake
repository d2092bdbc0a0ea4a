# cmake --install, and the package that find_package(Gradus) finds.
include(CMakePackageConfigHelpers)
set(gradus_targets gradus gradus_torch)
if(TARGET gradus_cuda)
  # Programs do not link it: libgradus.so loads it from beside itself.
  install(TARGETS gradus_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET gradus_static)
  list(APPEND gradus_targets gradus_static)
endif()
install(TARGETS ${gradus_targets} EXPORT GradusTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/gradus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradus-compat OPTIONAL)
set(gradus_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Gradus)
install(EXPORT GradusTargets NAMESPACE Gradus:: DESTINATION ${gradus_config_dir})
configure_package_config_file(cmake/GradusConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/GradusConfig.cmake
                              INSTALL_DESTINATION ${gradus_config_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/GradusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/GradusConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/GradusConfigVersion.cmake
        DESTINATION ${gradus_config_dir})
