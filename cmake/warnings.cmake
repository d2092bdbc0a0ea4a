# Flags of the library's own sources; nothing here reaches a user's targets.
set(gradus_warnings -Wall -Wextra -Wno-unused-parameter)
set(gradus_sanitize_flags)
if(GRADUS_SANITIZE)
  set(gradus_sanitize_flags -fsanitize=${GRADUS_SANITIZE} -fno-omit-frame-pointer)
endif()

function(gradus_library_flags target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE ${gradus_warnings} -fno-math-errno -fno-trapping-math -ffp-contract=off
                         ${gradus_sanitize_flags})
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
endfunction()
